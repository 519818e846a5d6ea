// SPDX-License-Identifier: Apache-2.0
#include "core/ledger.h"

#include "core/json.h"

#include <QtGlobal>

namespace gridloom {

void Ledger::finish(Outcome outcome, std::uint64_t n)
{
    Q_ASSERT_X(n <= inFlight, "Ledger::finish", "more work ended than was in flight");
    inFlight -= n;
    switch (outcome) {
    case Outcome::Done: done += n; break;
    case Outcome::Failed: failed += n; break;
    case Outcome::TimedOut: timedOut += n; break;
    case Outcome::Discarded: discarded += n; break;
    }
}

void Ledger::write(JsonWriter &w) const
{
    w.beginObject();
    w.key("offered").unsignedInteger(offered).key("done").unsignedInteger(done);
    w.key("failed").unsignedInteger(failed).key("timedOut").unsignedInteger(timedOut);
    w.key("discarded").unsignedInteger(discarded).key("inFlight").unsignedInteger(inFlight);
    w.endObject();
}

} // namespace gridloom
