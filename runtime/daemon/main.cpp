// SPDX-License-Identifier: Apache-2.0
// gridloomd: the composition root. Reads options and design, then hands over to the Supervisor.

#include "core/json.h"
#include "daemon/lastdesign.h"
#include "daemon/options.h"
#include "daemon/signals.h"
#include "daemon/supervisor.h"
#include "designio/designfolder.h"
#include "script/scriptcheck.h"
#include "script/triggerscript.h"

#include <QCoreApplication>
#include <QTextStream>

#include <cstdio>
#include <malloc.h>

namespace gridloom {
namespace {

// Exit codes of docs: 0 ok, 1 failed, 2 usage, 3 design invalid.
enum Exit { kOk = 0, kFailed = 1, kUsage = 2, kInvalid = 3 };

void print(FILE *stream, const QString &text)
{
    QTextStream(stream) << text << (text.endsWith(QLatin1Char('\n')) ? "" : "\n");
}

struct LoadedDesign {
    std::shared_ptr<const Design> design;
    std::vector<DesignFault> faults;
    DesignDocument document;
};

Result<LoadedDesign> checkedDesign(Result<DesignDocument> document, const Options &options)
{
    if (!document)
        return document.error();
    auto manifests = readManifests(options.pluginDir);
    if (!manifests)
        return manifests.error();
    DesignContext context;
    context.manifests = std::move(manifests).value();
    context.checkLua = checkLuaSyntax;
    ParsedDesign parsed = parseDesign(document.value(), context);
    if (!parsed.design)
        return LoadedDesign{nullptr, std::move(parsed.faults), {}};
    std::vector<DesignFault> scriptFaults = checkScripts(*parsed.design);
    return LoadedDesign{scriptFaults.empty() ? parsed.design : nullptr, std::move(scriptFaults),
                        std::move(document).value()};
}

void printFaults(const std::vector<DesignFault> &faults, bool isJson)
{
    if (!isJson) {
        for (const DesignFault &fault : faults)
            print(stderr, fault.text());
        return;
    }
    JsonWriter w;
    w.beginObject().key("faults").beginArray();
    for (const DesignFault &fault : faults)
        w.beginObject()
            .key("path")
            .string(QStringView(fault.path))
            .key("pointer")
            .string(QStringView(fault.pointer))
            .key("line")
            .integer(fault.line)
            .key("code")
            .string(QStringView(fault.code))
            .key("message")
            .string(QStringView(fault.message))
            .endObject();
    w.endArray().endObject();
    print(stdout, QString::fromUtf8(w.take()));
}

int checkDesign(const LoadedDesign &loaded, const Options &options)
{
    if (options.isJson || !loaded.faults.empty())
        printFaults(loaded.faults, options.isJson);
    if (!loaded.design) {
        print(stderr, QStringLiteral("%1 fault(s): the design was refused as a whole.").arg(loaded.faults.size()));
        return kInvalid;
    }
    if (!options.isJson)
        print(stdout,
              QStringLiteral("Design is valid: %1 points, %2 triggers, revision %3")
                  .arg(loaded.design->points.size())
                  .arg(loaded.design->triggerList.size())
                  .arg(QString::fromLatin1(loaded.design->revision.left(12))));
    return kOk;
}

// A gateway whose design folder was damaged, or edited into something that is no design, goes on with the last design
// that ran. What the alarm is to say; empty, and nothing changed, when there is no such design.
QString standIn(Result<LoadedDesign> &loaded, const Options &options)
{
    auto last = checkedDesign(readLastDesign(options.stateDir), options);
    if (!last || !last.value().design)
        return {};
    const QString why = loaded ? loaded.value().faults.front().text() : loaded.error().message;
    if (loaded)
        printFaults(loaded.value().faults, false);
    loaded = std::move(last);
    return QStringLiteral(
               "The design in %1 cannot be used: %2 The last design that ran, revision %3, runs in its place; "
               "repair the folder and start again.")
        .arg(options.design, why, QString::fromLatin1(loaded.value().design->revision.left(12)));
}

int run(int argc, char **argv)
{
    // Before any thread exists, so that all of them inherit it.
    Signals::block();
    QCoreApplication application(argc, argv);
    QCoreApplication::setApplicationName(QStringLiteral("gridloomd"));
    const OptionsResult read = readOptions(application.arguments(), QCoreApplication::applicationDirPath());
    if (!read.options) {
        print(read.exitCode == kOk ? stdout : stderr, read.text);
        return read.exitCode;
    }
    const Options &options = *read.options;
    if (options.isPrintConfig) {
        for (const auto &origin : options.origins)
            print(stdout, QStringLiteral("%1 = %2  (%3)").arg(origin.key, origin.value, origin.origin));
        return kOk;
    }
    auto loaded = checkedDesign(readDesignFolder(options.design), options);
    QString fault;
    if (!options.isCheck && (!loaded || !loaded.value().design))
        fault = standIn(loaded, options);
    if (!loaded) {
        print(stderr, loaded.error().message);
        return kInvalid;
    }
    if (options.isCheck || !loaded.value().design)
        return checkDesign(loaded.value(), options);

    std::unique_ptr<const Clock> clock;
    if (options.speed == 1.0)
        clock = std::make_unique<SystemClock>();
    else
        clock = std::make_unique<ScaledClock>(options.speed);
    Supervisor supervisor(options, loaded.value().design, std::move(clock));
    QObject::connect(&supervisor, &Supervisor::finished, &application, &QCoreApplication::exit);
    const Signals signalSource([&supervisor](int) { supervisor.stop(); });
    if (const auto started = supervisor.start(); !started) {
        print(stderr, started.error().message);
        return kFailed;
    }
    if (!fault.isEmpty())
        supervisor.reportFault(fault);
    else if (const auto kept = keepLastDesign(options.stateDir, loaded.value().document); !kept)
        print(stderr, kept.error().message);
    loaded.value().document.clear();
    // Reading the design took many times the memory that it keeps.
    ::malloc_trim(0);
    return QCoreApplication::exec();
}

} // namespace
} // namespace gridloom

int main(int argc, char **argv)
{
    return gridloom::run(argc, argv);
}
