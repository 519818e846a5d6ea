// SPDX-License-Identifier: Apache-2.0
// Interrupt: SIGINT and SIGTERM as a Qt signal, so that everything that was started is stopped again in order. One
// per process, created by main() in the main thread before any other thread. A second signal ends the process at
// once; its children end with it.
#pragma once

#include <QObject>
#include <QSocketNotifier>

#include <memory>

namespace gridloom {

class Interrupt : public QObject {
    Q_OBJECT
public:
    Interrupt();
    ~Interrupt() override;
    bool wasRequested() const { return m_wasRequested; }

Q_SIGNALS:
    void requested();

private:
    std::unique_ptr<QSocketNotifier> m_notifier;
    bool m_wasRequested = false;
};

} // namespace gridloom
