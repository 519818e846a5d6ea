// SPDX-License-Identifier: Apache-2.0
// The payloads of our MQTT messages. Each is one JSON object that carries our own message id. Pure.
#pragma once

#include "core/processimage.h"
#include "core/timetext.h"
#include "engine/alarmboard.h"

#include <QByteArray>

namespace gridloom {

/// A script's payload with our id put in: {"id":N,...members} for an object, {"id":N,"value":payload} for anything else.
/// A member "id" of the script's own is replaced. `payload` is JSON without white space, as scripts' payloads are.
QByteArray scriptPayload(std::uint64_t id, QByteArray payload);

/// {"id":N,"device":"..","time":"..Z","values":{"point":{"v":1.5,"q":"Bad_..","t":"..Z"},..}}: q stands only where it is
/// not Good, t only where it is not the message's time (the newest of its values).
QByteArray publicationPayload(std::uint64_t id, const Design &design, const Publication &publication,
                              const PointStore &points);

/// The payload of late telemetry: "backfill":true behind its id.
QByteArray backfillPayload(QByteArray payload);

/// {"id":N,"v":1.5,"t":"..Z"}: the newest state of one point; q stands only where it is not Good, t is null while nothing
/// was ever received.
QByteArray statePayload(std::uint64_t id, const ImageSlot &slot);

/// {"id":N,"alarm":"set.alarm","state":"..","from":"..","severity":"..","text":"..","time":"..Z","value":..}
QByteArray alarmPayload(std::uint64_t id, const AlarmBoard::Entry &entry, const AlarmTransition &transition);

} // namespace gridloom
