// SPDX-License-Identifier: Apache-2.0
// Options of gridloomd. Precedence: built-in < configuration file < environment GRIDLOOM_SECTION__KEY < command line.
#pragma once

#include "core/result.h"

#include <QList>
#include <QString>
#include <QStringList>

namespace gridloom {

struct Options {
    QString design; ///< folder
    QString stateDir;
    QString pluginDir;    ///< default: ../lib/gridloom/plugins beside the executable
    QString configFile;   ///< default: /etc/gridloom/gridloomd.conf
    QString statusSocket; ///< empty: none
    QString report;       ///< empty: none
    QStringList statusPoints;
    double speed = 1.0;      ///< 0.1 to 1000
    int durableCommitMs = 0; ///< low-wear profile: one group commit in so many ms; 0: at once
    bool isCheck = false;
    bool isPrintConfig = false;
    bool isJson = false;

    struct Origin {
        QString key, value, origin;
    };
    QList<Origin> origins; ///< what --print-config shows, in order
};

/// How the command line ended: with options, or with an exit code and a text for stdout (0) or stderr.
struct OptionsResult {
    std::optional<Options> options;
    int exitCode = 0;
    QString text;
};
/// `applicationDir` is the folder of the executable.
OptionsResult readOptions(const QStringList &arguments, const QString &applicationDir);

} // namespace gridloom
