// SPDX-License-Identifier: Apache-2.0
// From the files of a design to a Design, or to the complete list of what is wrong with them. Pure: files are read by
// designio. Plugins' parameters are checked against the manifests that the caller passes in as data.
#pragma once

#include "core/design/design.h"
#include "core/result.h"

#include <QByteArray>
#include <QString>

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace gridloom {

/// Path inside the design folder ("devices/meter1.json") to the bytes of the file.
using DesignDocument = std::map<QByteArray, QByteArray>;

struct DesignFault {
    QString path;    ///< file, such as "devices/meter1.json"
    QString pointer; ///< JSON pointer (RFC 6901) of the value, such as "/points/3/address"; empty: the whole file
    int line = 0;    ///< 1-based, of syntax errors in JSON and Lua; 0: not known
    QString code;    ///< stable, `design.reason`, such as "design.unknownPoint"
    QString message; ///< what is wrong and what to do
    /// "devices/meter1.json/points/3/address: message" or, with a line, "triggers/peak.lua:7: message": the way logs
    /// and --check print it.
    QString text() const;
};

/// What a design is checked against beside its own rules.
struct DesignContext {
    /// Manifests by kind and id ("driver/modbus"): the JSON of each plugin.json. Without an entry the plugin is unknown
    /// and its use a fault.
    std::map<QString, QJsonObject> manifests;
    /// Syntax check of a chunk ("trigger") or expression; nothing when it is fine, else line and message. Unset: not
    /// checked.
    std::function<std::optional<std::pair<int, QString>>(const QString &lua, bool isExpression)> checkLua;
};

struct ParsedDesign {
    std::shared_ptr<const Design> design; ///< null when there is any fault
    std::vector<DesignFault> faults;      ///< every one (beyond 10,000 their number), in order of path
};

/// Parses and checks everything; never stops at the first fault. Pure.
ParsedDesign parseDesign(const DesignDocument &document, const DesignContext &context);

/// The canonical form of semantics ("Deployment and design files"): one UTF-8 object {path: content} with keys sorted
/// by bytes, no white space, integers as digits, doubles shortest, Lua as text with LF. Files that are not part of a
/// design (README, notes) are left out. Error with the first fault's code, such as "design.syntax", when a file cannot
/// be read.
Result<QByteArray> canonicalForm(const DesignDocument &document);
/// SHA-256 of those bytes as 64 lower-case hex digits.
QByteArray revisionHash(const QByteArray &canonicalForm);

} // namespace gridloom
