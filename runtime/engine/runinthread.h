// SPDX-License-Identifier: Apache-2.0
// Runs a function in the event loop of another thread and waits for its end. For start and stop only.
#pragma once

#include <QObject>
#include <QThread>

#include <functional>

namespace gridloom {

/// `thread` runs an event loop and is not the caller's own.
inline void runInThread(QThread &thread, const std::function<void()> &function)
{
    auto *context = new QObject;
    context->moveToThread(&thread);
    QMetaObject::invokeMethod(context, function, Qt::BlockingQueuedConnection);
    context->deleteLater();
}

} // namespace gridloom
