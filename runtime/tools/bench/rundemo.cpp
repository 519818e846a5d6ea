// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/demoview.h"
#include "tools/bench/designpatch.h"
#include "tools/bench/measurement.h"
#include "tools/bench/report.h"
#include "tools/bench/run.h"

#include "designio/designfolder.h"

#include <QCoreApplication>
#include <QFile>

#include <sys/ioctl.h>
#include <unistd.h>

namespace gridloom {

namespace {

/// Of resources/samples/site: what a glance at the site shows.
QList<ShownPoint> shownPoints()
{
    const QString kW = QStringLiteral("kW");
    return {{QStringLiteral("meter1.activePower"), kW},
            {QStringLiteral("site.load"), kW},
            {QStringLiteral("site.production"), kW},
            {QStringLiteral("site.withoutBattery"), kW},
            {QStringLiteral("pv1.activePower"), kW},
            {QStringLiteral("pv2.activePower"), kW},
            {QStringLiteral("battery1.activePower"), kW},
            {QStringLiteral("battery1.setpoint"), kW},
            {QStringLiteral("battery1.soc"), QStringLiteral("%")},
            {QStringLiteral("demand.projected"), kW},
            {QStringLiteral("ev1.activePower"), kW},
            {QStringLiteral("ev1.currentLimit"), QStringLiteral("A")},
            {QStringLiteral("ev2.activePower"), kW},
            {QStringLiteral("ev2.currentLimit"), QStringLiteral("A")}};
}

constexpr std::chrono::milliseconds kRedraw{900};

QString samples()
{
    return QCoreApplication::applicationDirPath() + QLatin1String("/../share/gridloom/samples");
}

int terminalRows()
{
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

Result<Session::Setup> setUp(const DemoOptions &options)
{
    QFile simulation(samples() + QLatin1String("/site-sim.json"));
    if (!simulation.open(QIODevice::ReadOnly))
        return Error{QStringLiteral("bench.demo"),
                     QStringLiteral("%1 cannot be read: %2").arg(simulation.fileName(), simulation.errorString())};
    const auto design = readDesignFolder(samples() + QLatin1String("/site"));
    if (!design)
        return design.error();
    Session::Setup setup;
    setup.simulation = simulation.readAll();
    setup.design = [document = design.value()](const QHash<QString, int> &ports, int brokerPort) {
        return patchAddresses(document, ports, brokerPort);
    };
    for (const ShownPoint &point : shownPoints())
        setup.statusPoints << point.name;
    setup.speed = options.speed;
    return setup;
}

/// The live view: at most one picture a second of real time, whatever the speed.
class Display {
public:
    Display(const DemoOptions &options, Measurement &measurement)
        : m_measurement(measurement), m_isScreen(!options.isHeadless && ::isatty(STDOUT_FILENO)),
          m_view(shownPoints(), m_isScreen && qEnvironmentVariableIsEmpty("NO_COLOR"), options.seconds, options.speed),
          m_jsonFile(options.jsonFile)
    {
        if (m_isScreen)
            printText("\033[?1049h\033[?25l", m_jsonFile); // a screen of its own, no cursor
    }
    ~Display()
    {
        if (m_isScreen)
            printText("\033[?25h\033[?1049l", m_jsonFile);
    }
    Display(const Display &) = delete;
    Display &operator=(const Display &) = delete;

    void show(const RuntimeStatus &status)
    {
        const SteadyTime now = std::chrono::steady_clock::now();
        if (m_shown && now - *m_shown < kRedraw)
            return;
        m_shown = now;
        const std::uint64_t messages = m_measurement.session().messages().messages();
        printText(m_isScreen ? m_view.screen(status, messages, terminalRows()) : m_view.line(status, messages),
                  m_jsonFile);
    }

private:
    Measurement &m_measurement;
    bool m_isScreen;
    DemoView m_view;
    QString m_jsonFile;
    std::optional<SteadyTime> m_shown;
};

} // namespace

int runDemo(const DemoOptions &options, const Interrupt &interrupt)
{
    const auto fail = [](const Error &error) {
        printError(error);
        return 1;
    };
    const auto setup = setUp(options);
    if (!setup)
        return fail(setup.error());
    Measurement measurement(interrupt);
    if (const auto started = measurement.start(setup.value()); !started)
        return fail(started.error());

    const SteadyTime begin = std::chrono::steady_clock::now();
    {
        Display display(options, measurement);
        const auto observed = measurement.observe(
            [&display](const RuntimeStatus &status) {
                display.show(status);
                return true;
            },
            std::chrono::seconds(options.seconds));
        if (!observed)
            return fail(observed.error());
    }
    auto result = measurement.finish(begin);
    if (!result) {
        measurement.session().keepFolder();
        return fail(result.error());
    }
    result.value().speed = options.speed;
    const std::vector<Identity> identities = reconcile(result.value().final, result.value().outside);
    printText(reportText(result.value(), identities), options.jsonFile);
    const bool holds = allHold(identities);
    if (!holds) {
        measurement.session().keepFolder();
        printText("Kept for a look: " + measurement.session().folder().toUtf8() + '\n', options.jsonFile);
    }
    if (const auto written = writeJsonFile(options.jsonFile, reportJson(result.value(), identities)); !written)
        return fail(written.error());
    return holds ? 0 : 1;
}

} // namespace gridloom
