// SPDX-License-Identifier: Apache-2.0
// aggregations/SET.json: windows over points, and rows that triggers write.
#include "core/design/sections.h"

namespace gridloom {

namespace {

constexpr qsizetype kMostInputs = 10'000;
constexpr qsizetype kMostAggregations = 10'000;

constexpr Choice<FoldKind> kFolds[] = {{u"mean", FoldKind::Mean},
                                       {u"min", FoldKind::Min},
                                       {u"max", FoldKind::Max},
                                       {u"sum", FoldKind::Sum},
                                       {u"timeWeightedMean", FoldKind::TimeWeightedMean},
                                       {u"integral", FoldKind::Integral}};

/// The input references of one aggregation: they can be resolved only when every set has been read, since a result is
/// a point too.
struct PendingInputs {
    QString setId;
    qsizetype index = 0;
    QString path;
    QString pointer; ///< of the aggregation
    std::vector<PlacedText> references;
};

Aggregation readAggregation(ObjectReader &reader, const StoragePolicy &inherited, std::vector<PlacedText> &inputs)
{
    Aggregation result;
    result.id = reader.id(u"id");
    result.name = reader.name(u"name");
    result.unit = reader.text(u"unit", QString(), 32);
    result.storage = readStorage(reader, inherited);
    if (!reader.has(u"inputs")) {
        for (const QStringView key : {u"inputs", u"windowMs", u"fold", u"maxGapMs"})
            reader.refuse(key, QStringLiteral("needs \"inputs\": a row without inputs is written by triggers"));
        reader.finish();
        return result;
    }
    inputs = reader.texts(u"inputs", kMostInputs);
    result.window = reader.duration(u"windowMs", kShortestPeriod);
    result.fold = reader.choice(u"fold", kFolds);
    if (result.fold == FoldKind::Integral || result.fold == FoldKind::TimeWeightedMean)
        result.maxGap = reader.duration(u"maxGapMs", Milliseconds(0), result.maxGap);
    else
        reader.refuse(u"maxGapMs", QStringLiteral("belongs to the folds integral and timeWeightedMean"));
    reader.finish();
    return result;
}

/// Depth-first search for an input that leads back to an aggregation on the way to it: such a one would feed itself.
class CycleSearch {
public:
    explicit CycleSearch(const Design &design)
        : m_design(design), m_state(static_cast<std::size_t>(design.points.size()), State::New)
    {
    }
    /// The aggregations behind `start` that close a cycle and were not visited by an earlier call.
    std::vector<PointHandle> closing(PointHandle start);

private:
    enum class State : std::uint8_t { New, Open, Done };
    struct Step {
        PointHandle point = kNoPoint;
        qsizetype nextInput = 0;
    };
    const Design &m_design;
    std::vector<State> m_state;
};

std::vector<PointHandle> CycleSearch::closing(PointHandle start)
{
    std::vector<PointHandle> closing;
    std::vector<Step> way;
    const auto enter = [&](PointHandle point) {
        m_state[point] = State::Open;
        way.push_back({point, 0});
    };
    if (m_state[start] == State::New)
        enter(start);
    while (!way.empty()) {
        Step &step = way.back();
        const Aggregation *aggregation = m_design.points.at(step.point).aggregation;
        if (!aggregation || step.nextInput == aggregation->inputs.size()) {
            m_state[step.point] = State::Done;
            way.pop_back();
            continue;
        }
        const PointHandle input = aggregation->inputs.at(step.nextInput++);
        if (m_state[input] == State::Open)
            closing.push_back(step.point);
        else if (m_state[input] == State::New)
            enter(input);
    }
    return closing;
}

void resolveInputs(DesignScope &scope, const std::vector<PendingInputs> &pending)
{
    for (const PendingInputs &inputs : pending) {
        ObjectReader reader({}, inputs.path, {}, scope.faults);
        Aggregation &aggregation = scope.design.aggregations.at(inputs.setId).aggregations[inputs.index];
        aggregation.inputs = scope.points.resolveAll(reader, inputs.references);
    }
    CycleSearch cycles(scope.design);
    std::map<PointHandle, const PendingInputs *> places;
    for (const PendingInputs &inputs : pending)
        places.emplace(scope.design.aggregations.at(inputs.setId).aggregations.at(inputs.index).handle, &inputs);
    for (const auto &[start, unused] : places) {
        for (const PointHandle closing : cycles.closing(start)) {
            const PendingInputs &place = *places.at(closing);
            ObjectReader reader({}, place.path, place.pointer, scope.faults);
            reader.fault(u"inputs", "design.cycle",
                         QStringLiteral("the inputs lead back to this aggregation; remove one of them"));
        }
    }
}

} // namespace

void readAggregations(DesignScope &scope)
{
    std::vector<PendingInputs> pending;
    for (const auto &[id, part] : scope.files.in(DesignFolder::Aggregations))
        if (!part.isReadable)
            scope.points.addUnreadable(id);
    const auto read = [&](ObjectReader &reader, const QString &id, const QString &name) {
        if (scope.files.in(DesignFolder::Devices).count(id) > 0)
            reader.fault(u"id", "design.duplicateId",
                         QStringLiteral("\"%1\" is also a device, and references could not tell them apart; "
                                        "choose another id")
                             .arg(id));
        AggregationSet set;
        set.id = id;
        set.name = name;
        UniqueWords ids("design.duplicateId");
        UniqueWords names("design.duplicateName");
        for (ObjectReader &item : reader.children(u"aggregations", kMostAggregations, true)) {
            std::vector<PlacedText> inputs;
            set.aggregations.append(readAggregation(item, scope.design.storage, inputs));
            ids.add(item, u"id", set.aggregations.constLast().id);
            names.add(item, u"name", set.aggregations.constLast().name);
            if (!inputs.empty())
                pending.push_back({id, set.aggregations.size() - 1, reader.path(), item.pointer(), std::move(inputs)});
        }
        scope.design.aggregations.emplace(id, std::move(set));
    };
    scope.forEachPart(DesignFolder::Aggregations, scope.ownerNames, read);
    scope.points.compile(scope.design);
    resolveInputs(scope, pending);
}

} // namespace gridloom
