// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/demoview.h"

#include <QJsonArray>

namespace gridloom {

namespace {

constexpr char kBold[] = "1";
constexpr char kDim[] = "2";
constexpr char kRed[] = "31";
constexpr char kYellow[] = "33";

QString text(const QJsonObject &object, const char *key)
{
    return object.value(QLatin1String(key)).toString();
}
qint64 count(const QJsonObject &object, const char *key)
{
    return object.value(QLatin1String(key)).toInteger();
}
QString padded(const QString &s, int width)
{
    return s.leftJustified(width, QLatin1Char(' '), true);
}

/// A value as people read it; "-" when there is none.
QString valueText(const QJsonValue &value)
{
    if (value.isDouble())
        return QString::number(value.toDouble(), 'f', 2);
    if (value.isBool())
        return value.toBool() ? QStringLiteral("on") : QStringLiteral("off");
    return value.isString() ? value.toString() : QStringLiteral("-");
}

/// What fits beside a value that is not good.
QString qualityWord(const QString &quality)
{
    return quality == QLatin1String("Bad_WaitingForInitialData") ? QStringLiteral("not yet")
        : quality.startsWith(QLatin1String("Bad_"))              ? QStringLiteral("bad")
                                                                 : QStringLiteral("stale");
}

QString milliseconds(const Histogram &h, double percentile)
{
    return h.count() == 0 ? QStringLiteral("-") : QString::number(h.percentileMs(percentile), 'f', 1);
}

} // namespace

QByteArray DemoView::coloured(const char *sgr, const QByteArray &text) const
{
    return m_isColoured ? QByteArray("\033[") + sgr + 'm' + text + "\033[0m" : text;
}

QByteArray DemoView::values(const RuntimeStatus &status) const
{
    const QJsonObject values = status.json.value(QLatin1String("values")).toObject();
    QByteArray out = coloured(kBold, "Values") + '\n';
    int column = 0;
    for (const ShownPoint &point : m_points) {
        const QJsonObject value = values.value(point.name).toObject();
        const QString quality = text(value, "q");
        const bool isGood = quality == QLatin1String("Good");
        const QByteArray cell = (padded(point.name, 23) + valueText(value.value(QLatin1String("v"))).rightJustified(9)
                                 + QLatin1Char(' ') + padded(isGood ? point.unit : qualityWord(quality), 14))
                                    .toUtf8();
        out += "  " + (isGood ? cell : coloured(kYellow, cell)) + (++column % 2 == 0 ? "\n" : "");
    }
    return out + (column % 2 == 0 ? "\n" : "\n\n");
}

QByteArray DemoView::alarms(const RuntimeStatus &status) const
{
    const QJsonArray alarms = status.json.value(QLatin1String("alarms")).toArray();
    QByteArray out = coloured(kBold, "Alarms") + '\n';
    if (alarms.isEmpty())
        out += "  none\n";
    for (const QJsonValue &item : alarms) {
        const QJsonObject alarm = item.toObject();
        const QByteArray row =
            (QLatin1String("  ") + padded(text(alarm, "severity"), 12) + padded(text(alarm, "name"), 26)
             + padded(text(alarm, "state"), 16) + text(alarm, "text"))
                .toUtf8();
        const bool isActive = text(alarm, "state") != QLatin1String("ReturnToNormalUnacknowledged");
        out += coloured(isActive ? kRed : kDim, row) + '\n';
    }
    return out + '\n';
}

QByteArray DemoView::triggers(const RuntimeStatus &status) const
{
    QByteArray out =
        coloured(kBold, "Triggers") + "                                runs    failed  timed out   skipped\n";
    const QJsonArray triggers = status.json.value(QLatin1String("triggers")).toArray();
    for (const QJsonValue &item : triggers) {
        const QJsonObject trigger = item.toObject();
        const QByteArray row = QStringLiteral("  %1%2%3%4%5")
                                   .arg(padded(text(trigger, "name"), 32))
                                   .arg(count(trigger, "runs"), 10)
                                   .arg(count(trigger, "failed"), 10)
                                   .arg(count(trigger, "timedOut"), 11)
                                   .arg(count(trigger, "skipped"), 10)
                                   .toUtf8();
        const QString error = text(trigger, "lastError");
        out += error.isEmpty() ? row + '\n' : coloured(kRed, row + "  " + error.toUtf8()) + '\n';
    }
    return out + '\n';
}

QByteArray DemoView::accounts(const RuntimeStatus &status, std::uint64_t messages) const
{
    QByteArray out =
        coloured(kBold, "Accounts") + "         offered      done    failed  timed out  discarded  in flight\n";
    for (const auto &[name, l] : status.ledgers.all()) {
        const QByteArray row = QStringLiteral("  %1%2%3%4%5%6%7")
                                   .arg(padded(QLatin1String(name.data(), static_cast<qsizetype>(name.size())), 13))
                                   .arg(l.offered, 9)
                                   .arg(l.done, 10)
                                   .arg(l.failed, 10)
                                   .arg(l.timedOut, 11)
                                   .arg(l.discarded, 11)
                                   .arg(l.inFlight, 11)
                                   .toUtf8();
        out += (l.addsUp() ? row : coloured(kRed, row + "  does not add up")) + '\n';
    }
    out +=
        QStringLiteral("\n  From due to all effects confirmed: P50 %1 ms, P95 %2 ms, P99 %3 ms. "
                       "Messages seen by the subscriber: %4\n"
                       "  Rows stored: %5, skipped by policy: %6. Runtime: %7 MB, %8 threads\n")
            .arg(milliseconds(status.trigger, 50), milliseconds(status.trigger, 95), milliseconds(status.trigger, 99))
            .arg(messages)
            .arg(status.store.rows)
            .arg(status.store.skippedByPolicy)
            .arg(static_cast<double>(status.process.rssKb) / 1024.0, 0, 'f', 1)
            .arg(status.process.threads)
            .toUtf8();
    return out;
}

QByteArray DemoView::screen(const RuntimeStatus &status, std::uint64_t messages, int rows) const
{
    const QString until = m_endS > 0 ? QStringLiteral("of %1 s").arg(m_endS) : QStringLiteral("s, Ctrl+C ends it");
    const QString head = QStringLiteral("Gridloom demo: gateway %1, %2, %3 %4")
                             .arg(text(status.json, "gateway"), status.state)
                             .arg(status.uptimeS / m_speed, 0, 'f', 0)
                             .arg(until)
        + (m_speed == 1 ? QString() : QStringLiteral(", %1 times as fast as real time").arg(m_speed));
    const QByteArray body = coloured(kBold, head.toUtf8()) + "\n\n" + values(status) + alarms(status) + triggers(status)
        + accounts(status, messages);
    // Over the old picture from the top, each line cleared to its end, so that nothing flickers. Long lines are cut by
    // the terminal (no wrap) and only whole lines are dropped when it is too low.
    QByteArray out = "\033[?7l\033[H";
    const QList<QByteArray> lines = body.split('\n');
    for (int i = 0; i < lines.size() && i < rows - 1; ++i)
        out += lines[i] + "\033[K\n";
    return out + "\033[J\033[?7h";
}

QByteArray DemoView::line(const RuntimeStatus &status, std::uint64_t messages) const
{
    const QJsonArray alarms = status.json.value(QLatin1String("alarms")).toArray();
    return QStringLiteral("%1 s: %2 samples, %3 trigger runs (P95 %4 ms), %5 writes confirmed, %6 alarm transitions "
                          "(%7 not normal), %8 messages sent, %9 received, %10 rows\n")
        .arg(status.uptimeS, 6, 'f', 0)
        .arg(status.ledgers.points.done)
        .arg(status.ledgers.triggers.done)
        .arg(milliseconds(status.trigger, 95))
        .arg(status.ledgers.control.done)
        .arg(status.ledgers.alarms.done)
        .arg(alarms.size())
        .arg(status.ledgers.mqtt.done)
        .arg(messages)
        .arg(status.store.rows)
        .toUtf8();
}

} // namespace gridloom
