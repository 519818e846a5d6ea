// SPDX-License-Identifier: Apache-2.0
// TerminationSignal: SIGTERM and SIGINT as a Qt signal. One per process, made by main() before any other thread.
#pragma once

#include <QObject>
#include <QSocketNotifier>

#include <memory>

namespace gridloom {

class TerminationSignal : public QObject {
    Q_OBJECT
public:
    TerminationSignal();
    ~TerminationSignal() override;

Q_SIGNALS:
    void received();

private:
    std::unique_ptr<QSocketNotifier> m_notifier;
};

} // namespace gridloom
