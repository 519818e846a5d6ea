// SPDX-License-Identifier: Apache-2.0
// Error and Result<T>: how a function that can fail answers. C++20 has no std::expected.
#pragma once

#include <QString>

#include <utility>
#include <variant>

namespace gridloom {

struct Error {
    QString code;             ///< stable, `subsystem.reason`, such as "modbus.timeout"
    QString message;          ///< what happened, where and what to do, in the user's words
    bool isRetryable = false; ///< whether the same call may succeed later
};

template<typename T = void>
class [[nodiscard]] Result {
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }
    const T &value() const & { return std::get<0>(m_state); }
    T &value() & { return std::get<0>(m_state); }
    T &&value() && { return std::get<0>(std::move(m_state)); }
    const Error &error() const { return std::get<1>(m_state); }

private:
    std::variant<T, Error> m_state;
};

template<>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Error error) : m_error(std::move(error)), m_ok(false) {}

    bool ok() const { return m_ok; }
    explicit operator bool() const { return m_ok; }
    const Error &error() const { return m_error; }

private:
    Error m_error;
    bool m_ok = true;
};

} // namespace gridloom
