// SPDX-License-Identifier: Apache-2.0
#include "script/scriptcheck.h"

#include "script/expression.h"
#include "script/scriptnames.h"

namespace gridloom {

namespace {
template<typename Names>
QString unknown(const char *what, const QString &name, const Names &names)
{
    const QByteArray nearest = nearestKnown(names, name.toUtf8().toStdString());
    const QString hint = nearest.isEmpty() ? QStringLiteral("check the name")
                                           : QStringLiteral("did you mean \"%1\"?").arg(QString::fromUtf8(nearest));
    return QStringLiteral("the design has no %1 \"%2\"; %3").arg(QLatin1String(what), name, hint);
}

// What is wrong with one name; an empty code when nothing is.
DesignFault nameFault(const NameUse &use, const Design &design)
{
    DesignFault fault;
    if (use.kind == NameUse::Kind::Alarm) {
        if (!design.alarmByName.contains(use.name.toUtf8())) {
            fault.code = QStringLiteral("design.unknownAlarm");
            fault.message = unknown("alarm", use.name, design.alarmByName);
        }
        return fault;
    }
    if (use.kind == NameUse::Kind::Task) {
        if (!design.coordinationByName.contains(use.name.toUtf8())) {
            fault.code = QStringLiteral("design.unknownTask");
            fault.message = unknown("coordination task", use.name, design.coordinationByName);
        }
        return fault;
    }
    const PointHandle point = design.pointByName.value(use.name.toUtf8());
    if (point == kNoPoint) {
        fault.code = QStringLiteral("design.unknownPoint");
        fault.message = unknown("point", use.name, design.pointByName);
        return fault;
    }
    const PointRef &ref = design.points[point];
    if (use.kind == NameUse::Kind::Output && !(ref.point && ref.point->write)) {
        fault.code = QStringLiteral("design.notAnOutput");
        fault.message = QStringLiteral("\"%1\" cannot be written; give the point a \"write\" policy or write another")
                            .arg(use.name);
    } else if (use.kind == NameUse::Kind::Row && !(ref.aggregation && ref.aggregation->isScripted())) {
        fault.code = QStringLiteral("design.notARow");
        fault.message = QStringLiteral("\"%1\" is no row for triggers; aggregation.write() takes an aggregation "
                                       "without inputs")
                            .arg(use.name);
    }
    return fault;
}
} // namespace

std::vector<DesignFault> checkScripts(const Design &design)
{
    std::vector<DesignFault> faults;
    for (const Trigger *trigger : design.triggerList) {
        for (const NameUse &use : literalNames(trigger->script)) {
            DesignFault fault = nameFault(use, design);
            if (fault.code.isEmpty())
                continue;
            fault.path = QStringLiteral("triggers/%1.lua").arg(trigger->id);
            fault.line = use.line;
            faults.push_back(std::move(fault));
        }
    }
    if (const auto expressions = Expressions::compile(design); !expressions) {
        DesignFault fault;
        fault.path = QStringLiteral("devices");
        fault.code = QStringLiteral("design.expression");
        fault.message = expressions.error().message;
        faults.push_back(std::move(fault));
    }
    return faults;
}

} // namespace gridloom
