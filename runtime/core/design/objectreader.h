// SPDX-License-Identifier: Apache-2.0
// ObjectReader: takes one JSON object of a design apart, key by key, with types, ranges and defaults. Whatever is wrong
// becomes a fault with the place, and reading goes on with the default, so that one pass finds every fault. A key that
// was not asked for by the time of finish() is unknown. The object, the path and the fault list outlive the reader.
#pragma once

#include "core/design/design.h"
#include "core/design/faultlist.h"

#include <QJsonObject>
#include <QStringList>

#include <optional>
#include <vector>

namespace gridloom {

/// One of the words that a key can have, and what it means.
template<typename T>
struct Choice {
    QStringView word;
    T meaning;
};

/// A text of a list together with its own JSON pointer.
struct PlacedText {
    QString text;
    QString pointer;
};

class ObjectReader {
public:
    ObjectReader(QJsonObject object, const QString &path, QString pointer, FaultList &faults);

    const QString &path() const { return m_path; }
    const QString &pointer() const { return m_pointer; }
    bool has(QStringView key) const { return m_object.contains(key); }

    // Each reader marks the key as known. Without a default the key is required.
    QString text(QStringView key, qsizetype longest = 256);
    QString text(QStringView key, const QString &byDefault, qsizetype longest = 256);
    /// An id by isValidId(); the empty text after a fault.
    QString id(QStringView key);
    QString name(QStringView key);
    bool boolean(QStringView key, bool byDefault);
    /// A whole number in min..max; 1.5 is a fault.
    std::int64_t integer(QStringView key, std::int64_t min, std::int64_t max);
    std::int64_t integer(QStringView key, std::int64_t min, std::int64_t max, std::int64_t byDefault);
    double number(QStringView key, double byDefault);
    std::optional<double> optionalNumber(QStringView key);
    double notNegative(QStringView key, double byDefault);
    /// Milliseconds, a whole number from `min` to a year.
    Milliseconds duration(QStringView key, Milliseconds min);
    Milliseconds duration(QStringView key, Milliseconds min, Milliseconds byDefault);
    template<typename T, std::size_t N>
    T choice(QStringView key, const Choice<T> (&choices)[N], std::optional<T> byDefault = std::nullopt);
    /// A sub-object as it is.
    QJsonObject object(QStringView key);
    /// A reader for a sub-object; nothing when it is absent or no object.
    std::optional<ObjectReader> child(QStringView key);
    /// Readers for a list of objects, at most `longest`; `isRequired`: absent or empty is a fault.
    std::vector<ObjectReader> children(QStringView key, qsizetype longest, bool isRequired);
    /// A list of different texts, 1 to `longest`; empty when it is absent or wrong.
    std::vector<PlacedText> texts(QStringView key, qsizetype longest);
    /// Any value; undefined when absent.
    QJsonValue any(QStringView key);

    /// "design.notAllowed" when the key is there.
    void refuse(QStringView key, const QString &why);
    /// "design.missing" when it is not.
    bool require(QStringView key);
    /// A fault at a key, or at the object itself when the key is empty.
    void fault(QStringView key, const char *code, const QString &message);
    /// A fault at a pointer of this file.
    void faultAt(const QString &pointer, const char *code, const QString &message);
    QString pointerOf(QStringView key) const;
    FaultList &faults() { return m_faults; }

    /// Faults "design.unknownKey" for what was never asked for. Call it last.
    void finish();

private:
    QJsonValue take(QStringView key);
    QJsonValue takeRequired(QStringView key);
    void wrongType(QStringView key, const QString &expected, const QJsonValue &found);
    std::optional<std::int64_t> wholeNumber(QStringView key, const QJsonValue &value, std::int64_t min,
                                            std::int64_t max);
    std::optional<double> finiteNumber(QStringView key, const QJsonValue &value);
    std::optional<QString> boundedText(QStringView key, const QJsonValue &value, qsizetype longest);
    std::optional<QJsonArray> boundedList(QStringView key, qsizetype longest);
    void unknownWord(QStringView key, const QString &word, const QStringList &words);

    QJsonObject m_object;
    const QString &m_path;
    QString m_pointer;
    FaultList &m_faults;
    std::vector<QStringView> m_asked; ///< the known keys
};

/// A JSON value as people read it in a message: `"text"`, `1.5`, `an object`; long texts are cut.
QString describe(const QJsonValue &value);

template<typename T, std::size_t N>
T ObjectReader::choice(QStringView key, const Choice<T> (&choices)[N], std::optional<T> byDefault)
{
    const QJsonValue value = byDefault ? take(key) : takeRequired(key);
    const T fallBack = byDefault.value_or(choices[0].meaning);
    if (value.isUndefined())
        return fallBack;
    if (!value.isString()) {
        wrongType(key, QStringLiteral("a text"), value);
        return fallBack;
    }
    const QString word = value.toString();
    for (const Choice<T> &choice : choices)
        if (choice.word == word)
            return choice.meaning;
    QStringList words;
    for (const Choice<T> &choice : choices)
        words.append(choice.word.toString());
    unknownWord(key, word, words);
    return fallBack;
}

} // namespace gridloom
