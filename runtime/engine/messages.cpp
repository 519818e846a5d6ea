// SPDX-License-Identifier: Apache-2.0
#include "engine/messages.h"

#include "core/json.h"

namespace gridloom {

namespace {
std::string_view view(const QByteArray &bytes)
{
    return {bytes.constData(), static_cast<std::size_t>(bytes.size())};
}
// The object without its own member "id". By scanning, since a parser would round integers above 2^63.
QByteArray withoutId(const QByteArray &object)
{
    int depth = 0;
    bool isInString = false;
    qsizetype start = -1; // of the member to cut
    for (qsizetype i = 0; i < object.size(); ++i) {
        const char c = object[i];
        if (isInString) {
            if (c == '\\')
                ++i;
            else if (c == '"')
                isInString = false;
            continue;
        }
        if (start >= 0 && depth == 1 && (c == ',' || c == '}')) {
            // The comma behind it goes too, or the one before it when it was the last member.
            if (c == ',')
                return object.first(start) + object.sliced(i + 1);
            return object.first(object[start - 1] == ',' ? start - 1 : start) + object.sliced(i);
        }
        if (c == '{' || c == '[') {
            ++depth;
        } else if (c == '}' || c == ']') {
            --depth;
        } else if (c == '"') {
            const bool isKey = depth == 1 && (object[i - 1] == '{' || object[i - 1] == ',');
            if (start < 0 && isKey && QByteArrayView(object).sliced(i).startsWith("\"id\":"))
                start = i;
            isInString = true;
        }
    }
    return object;
}
} // namespace

QByteArray scriptPayload(std::uint64_t id, QByteArray payload)
{
    JsonWriter w(payload.size() + 32);
    w.beginObject().key("id").unsignedInteger(id);
    if (!payload.startsWith('{')) {
        w.key("value").raw(payload).endObject();
        return w.take();
    }
    payload = withoutId(payload);
    QByteArray out = w.take();
    if (payload.size() > 2)
        out += ',';
    out += QByteArrayView(payload).sliced(1);
    return out;
}

QByteArray publicationPayload(std::uint64_t id, const Design &design, const Publication &publication,
                              const PointStore &points)
{
    WallTime newest{};
    for (const PointHandle point : publication.points)
        newest = std::max(newest, points.at(point).sourceTime);
    JsonWriter w(64 + 48 * publication.points.size());
    w.beginObject().key("id").unsignedInteger(id);
    w.key("device").string(QStringView(publication.device)).key("time");
    if (newest == WallTime{})
        w.null(); // nothing was ever received
    else
        w.string(view(utcText(newest)));
    w.key("values").beginObject();
    WallTime time{};
    QByteArray timeText;
    for (const PointHandle point : publication.points) {
        const ImageSlot &slot = points.at(point);
        const PointRef &ref = design.points[point];
        const QString &name = ref.point ? ref.point->name : ref.aggregation->name;
        w.key(QStringView(name)).beginObject().key("v").value(isUsable(slot.quality) ? slot.value : Value());
        if (!isGood(slot.quality))
            w.key("q").string(qualityName(slot.quality));
        if (slot.sourceTime != newest && slot.sourceTime != WallTime{}) {
            if (slot.sourceTime != time) { // points of one answer share it
                time = slot.sourceTime;
                timeText = utcText(time);
            }
            w.key("t").string(view(timeText));
        }
        w.endObject();
    }
    w.endObject().endObject();
    return w.take();
}

QByteArray backfillPayload(QByteArray payload)
{
    constexpr QByteArrayView kId("{\"id\":");
    if (!payload.startsWith(kId))
        return payload;
    qsizetype end = kId.size();
    while (end < payload.size() && payload[end] >= '0' && payload[end] <= '9')
        ++end;
    return payload.insert(end, ",\"backfill\":true");
}

QByteArray statePayload(std::uint64_t id, const ImageSlot &slot)
{
    JsonWriter w(96);
    w.beginObject().key("id").unsignedInteger(id);
    w.key("v").value(isUsable(slot.quality) ? slot.value : Value());
    if (!isGood(slot.quality))
        w.key("q").string(qualityName(slot.quality));
    w.key("t");
    if (slot.sourceTime == WallTime{})
        w.null();
    else
        w.string(view(utcText(slot.sourceTime)));
    w.endObject();
    return w.take();
}

QByteArray alarmPayload(std::uint64_t id, const AlarmBoard::Entry &entry, const AlarmTransition &transition)
{
    JsonWriter w(256);
    w.beginObject().key("id").unsignedInteger(id).key("alarm").string(QStringView(entry.name));
    w.key("state").string(QStringView(transition.to)).key("from").string(QStringView(transition.from));
    w.key("severity").string(QStringView(severityText(transition.severity)));
    w.key("text").string(QStringView(transition.text)).key("time").string(view(utcText(transition.time)));
    if (!transition.value.isEmpty())
        w.key("value").string(view(transition.value));
    w.endObject();
    return w.take();
}

} // namespace gridloom
