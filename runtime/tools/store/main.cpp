// SPDX-License-Identifier: Apache-2.0
// gridloom-store: lists, checks, counts and exports the history in an embedded store's folder, in use or not.
#include "core/json.h"
#include "core/timetext.h"
#include "historyio/historyfolder.h"
#include "tools/store/rowoutput.h"

#include <QCommandLineParser>
#include <QCoreApplication>
#include <QDateTime>

#include <algorithm>
#include <cstdio>
#include <limits>

namespace {

using namespace gridloom;

enum Exit : int { kOk = 0, kFailed = 1, kUsage = 2 };

constexpr char kHelp[] =
    "Usage: gridloom-store list   FOLDER [--json]\n"
    "       gridloom-store check  FOLDER [--json]\n"
    "       gridloom-store count  FOLDER [--json]\n"
    "       gridloom-store export FOLDER [--series ID]... [--from T] [--to T] [--csv FILE|-] [--sqlite FILE]\n"
    "\n"
    "list    the series, with the number of their rows and the first and last time\n"
    "check   reads everything through and says what is damaged\n"
    "count   rows, rows written by triggers, and different runs among them\n"
    "export  rows of the named series (default: all) with from <= time < to, oldest first\n"
    "\n"
    "FOLDER is the folder of an embedded store, STATE/history of a gateway; it is only read, also while it is in use.\n"
    "Times are RFC 3339, such as 2026-08-01T00:00:00Z or 2026-08-01T02:00:00.5+02:00.\n"
    "Exit codes: 0 ok, 1 failed or something is damaged, 2 wrong usage.\n";

int usageError(const QString &what)
{
    std::fprintf(stderr, "gridloom-store: %s\n\n%s", qPrintable(what), kHelp);
    return kUsage;
}

int failed(const Error &error)
{
    std::fprintf(stderr, "gridloom-store: %s (%s)\n", qPrintable(error.message), qPrintable(error.code));
    return kFailed;
}

QByteArray timeText(std::int64_t ms)
{
    return utcText(WallTime(std::chrono::milliseconds(ms)));
}

int list(HistoryFolder &folder, bool isJson)
{
    const auto series = folder.series();
    if (!series)
        return failed(series.error());
    JsonWriter w;
    w.beginObject().key("series").beginArray();
    for (const auto &one : series.value()) {
        const bool hasRows = one.rows > 0;
        const QByteArray first = hasRows ? timeText(one.firstMs) : QByteArray();
        const QByteArray last = hasRows ? timeText(one.lastMs) : QByteArray();
        if (!isJson) {
            std::printf("%s\t%llu\t%s\t%s\t%s\t%s\n", one.series.id.constData(),
                        static_cast<unsigned long long>(one.rows), first.constData(), last.constData(),
                        one.series.unit.constData(), one.series.name.constData());
            continue;
        }
        const auto view = [](const QByteArray &t) {
            return std::string_view(t.constData(), static_cast<std::size_t>(t.size()));
        };
        w.beginObject().key("id").string(view(one.series.id)).key("name").string(view(one.series.name));
        w.key("unit").string(view(one.series.unit)).key("rows").unsignedInteger(one.rows);
        if (hasRows)
            w.key("first").string(view(first)).key("last").string(view(last));
        w.endObject();
    }
    w.endArray().endObject();
    if (isJson)
        std::puts(w.text().constData());
    return kOk;
}

int check(HistoryFolder &folder, bool isJson)
{
    const auto found = folder.check();
    if (!found)
        return failed(found.error());
    JsonWriter w;
    w.beginObject().key("damage").beginArray();
    for (const QString &text : found.value())
        w.string(QStringView(text));
    w.endArray().endObject();
    if (isJson)
        std::puts(w.text().constData());
    else if (found.value().isEmpty())
        std::puts("No damage found.");
    else
        std::puts(qPrintable(found.value().join(QLatin1Char('\n'))));
    return found.value().isEmpty() ? kOk : kFailed;
}

int count(HistoryFolder &folder, bool isJson)
{
    const auto count = folder.count();
    if (!count)
        return failed(count.error());
    JsonWriter w;
    w.beginObject().key("rows").unsignedInteger(count.value().rows);
    w.key("triggerRows").unsignedInteger(count.value().triggerRows);
    w.key("triggerRuns").unsignedInteger(count.value().triggerRuns).endObject();
    if (isJson)
        std::puts(w.text().constData());
    else
        std::printf("%llu rows, %llu of them by triggers, in %llu runs\n",
                    static_cast<unsigned long long>(count.value().rows),
                    static_cast<unsigned long long>(count.value().triggerRows),
                    static_cast<unsigned long long>(count.value().triggerRuns));
    return kOk;
}

struct ExportRequest {
    QStringList series;
    std::int64_t fromMs = std::numeric_limits<std::int64_t>::min();
    std::int64_t toMs = std::numeric_limits<std::int64_t>::max();
    QString csv, sqlite;
};

// The stored time that is the first not before `text`; nothing when it is no time.
std::optional<std::int64_t> timeOf(const QString &text)
{
    const QDateTime time = QDateTime::fromString(text, Qt::ISODateWithMs);
    if (!time.isValid() || time.timeSpec() == Qt::LocalTime) // a time without zone would mean another on each machine
        return std::nullopt;
    return time.toMSecsSinceEpoch();
}

Result<void> exportRows(HistoryFolder &folder, const ExportRequest &request, RowOutput &output)
{
    const auto all = folder.series();
    if (!all)
        return all.error();
    for (const QString &id : request.series) {
        if (std::none_of(all.value().begin(), all.value().end(),
                         [&](const auto &s) { return s.series.id == id.toUtf8(); }))
            return Error{QStringLiteral("store.noSeries"),
                         QStringLiteral("there is no series \"%1\"; list shows all").arg(id)};
    }
    for (const auto &one : all.value()) {
        if (!request.series.isEmpty() && !request.series.contains(QString::fromUtf8(one.series.id)))
            continue;
        if (const auto begun = output.begin(one.series); !begun)
            return begun;
        Result<void> written;
        const auto read = folder.query(one.series.id, request.fromMs, request.toMs,
                                       [&](const SegmentRow &row, const QByteArray &trigger) {
                                           written = output.row(row, trigger);
                                           return written.ok();
                                       });
        if (!read || !written)
            return read ? written : read;
    }
    return output.end();
}

int runExport(HistoryFolder &folder, const ExportRequest &request)
{
    for (const bool isCsv : {true, false}) {
        const QString &path = isCsv ? request.csv : request.sqlite;
        if (path.isEmpty())
            continue;
        const auto output = isCsv ? csvOutput(path) : sqliteOutput(path);
        if (!output)
            return failed(output.error());
        if (const auto done = exportRows(folder, request, *output.value()); !done)
            return failed(done.error());
    }
    for (const QString &text : folder.damage())
        std::fprintf(stderr, "gridloom-store: %s\n", qPrintable(text));
    return folder.damage().isEmpty() ? kOk : kFailed;
}

int run(const QCommandLineParser &parser)
{
    const auto value = [&parser](const char *name) { return parser.value(QLatin1String(name)); };
    const QStringList words = parser.positionalArguments();
    const QString command = words.value(0);
    const bool isExport = command == QLatin1String("export");
    const QStringList commands{QStringLiteral("list"), QStringLiteral("check"), QStringLiteral("count"),
                               QStringLiteral("export")};
    if (!commands.contains(command) || words.size() != 2)
        return usageError(QStringLiteral("say list, check, count or export, and a folder"));
    ExportRequest request{parser.values(QStringLiteral("series"))};
    request.csv = value("csv");
    request.sqlite = value("sqlite");
    for (const char *name : {"from", "to"}) {
        if (!parser.isSet(QLatin1String(name)))
            continue;
        const auto time = timeOf(value(name));
        if (!time)
            return usageError(QStringLiteral("--%1 must be a time with a zone, such as 2026-08-01T00:00:00Z")
                                  .arg(QLatin1String(name)));
        (name[0] == 'f' ? request.fromMs : request.toMs) = *time;
    }
    const bool hasTarget = !request.csv.isEmpty() || !request.sqlite.isEmpty();
    if (isExport != hasTarget)
        return usageError(isExport ? QStringLiteral("export needs --csv or --sqlite")
                                   : QStringLiteral("--csv and --sqlite belong to export"));
    const auto folder = HistoryFolder::open(words[1]);
    if (!folder)
        return failed(folder.error());
    const bool isJson = parser.isSet(QStringLiteral("json"));
    if (isExport)
        return runExport(*folder.value(), request);
    if (command == QLatin1String("list"))
        return list(*folder.value(), isJson);
    return command == QLatin1String("check") ? check(*folder.value(), isJson) : count(*folder.value(), isJson);
}

} // namespace

int main(int argc, char **argv)
{
    QCoreApplication app(argc, argv);
    QCommandLineParser parser;
    parser.addOptions({{QStringLiteral("series"), QString(), QStringLiteral("ID")},
                       {QStringLiteral("from"), QString(), QStringLiteral("T")},
                       {QStringLiteral("to"), QString(), QStringLiteral("T")},
                       {QStringLiteral("csv"), QString(), QStringLiteral("FILE")},
                       {QStringLiteral("sqlite"), QString(), QStringLiteral("FILE")},
                       {QStringLiteral("json"), QString()},
                       {QStringLiteral("help"), QString()},
                       {QStringLiteral("version"), QString()}});
    if (!parser.parse(app.arguments()))
        return usageError(parser.errorText());
    if (parser.isSet(QStringLiteral("help"))) {
        std::fputs(kHelp, stdout);
        return kOk;
    }
    if (parser.isSet(QStringLiteral("version"))) {
        std::puts("gridloom-store " GRIDLOOM_VERSION);
        return kOk;
    }
    return run(parser);
}
