// SPDX-License-Identifier: Apache-2.0
#include "faults/faultsize.h"

#include <QFile>
#include <QJsonDocument>

namespace gridloom::faults {

Size size()
{
    const QByteArray name = qgetenv("GRIDLOOM_FAULT_SIZE");
    return name == "slow" ? Size::Slow : name == "full" ? Size::Full : Size::Short;
}

int numberFrom(const char *variable, int fallback)
{
    bool isNumber = false;
    const int number = qEnvironmentVariableIntValue(variable, &isNumber);
    return isNumber ? number : fallback;
}

void report(const char *key, const QJsonValue &value)
{
    static QJsonObject figures;
    figures[QLatin1String(key)] = value;
    const QByteArray text = QJsonDocument(figures).toJson(QJsonDocument::Compact);
    qInfo("%s", QJsonDocument(QJsonObject{{QLatin1String(key), value}}).toJson(QJsonDocument::Compact).constData());
    const QString path = qEnvironmentVariable("GRIDLOOM_FAULT_FIGURES");
    QFile file(path);
    if (!path.isEmpty() && (!file.open(QIODevice::WriteOnly) || file.write(text) != text.size()))
        qFatal("%s cannot be written", qPrintable(path));
}

} // namespace gridloom::faults
