// SPDX-License-Identifier: Apache-2.0
#include "script/luatext.h"

namespace gridloom {

namespace {
// Length of the character at the start of `s` and its code point; 0 when it is malformed.
std::size_t decode(std::string_view s, char32_t &code)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        code = lead;
        return 1;
    }
    const std::size_t n = (lead & 0xE0) == 0xC0 ? 2 : (lead & 0xF0) == 0xE0 ? 3 : (lead & 0xF8) == 0xF0 ? 4 : 0;
    if (n == 0 || n > s.size())
        return 0;
    code = lead & (0x7F >> n);
    for (std::size_t i = 1; i < n; ++i) {
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (byte(i) & 0x3F);
    }
    static constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool isSurrogate = code >= 0xD800 && code < 0xE000;
    return code < kSmallest[n] || isSurrogate || code > 0x10FFFF ? 0 : n;
}

bool isControl(char32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
}

void appendEscaped(QByteArray &out, std::string_view bytes)
{
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char c : bytes) {
        switch (c) {
        case '\n': out.append("\\n", 2); break;
        case '\r': out.append("\\r", 2); break;
        case '\t': out.append("\\t", 2); break;
        default: {
            const auto b = static_cast<unsigned char>(c);
            out.append("\\x", 2).append(kHex[b >> 4]).append(kHex[b & 15]);
        }
        }
    }
}
} // namespace

QByteArray printable(std::string_view text, std::size_t maxBytes)
{
    QByteArray out;
    out.reserve(static_cast<qsizetype>(std::min(text.size(), maxBytes)));
    while (!text.empty()) {
        char32_t code = 0;
        const std::size_t n = decode(text, code);
        const std::string_view bytes = text.substr(0, n == 0 ? 1 : n);
        const qsizetype before = out.size();
        if (n == 0 || isControl(code))
            appendEscaped(out, bytes);
        else
            out.append(bytes.data(), static_cast<qsizetype>(n));
        if (static_cast<std::size_t>(out.size()) > maxBytes) {
            out.truncate(before);
            break;
        }
        text.remove_prefix(bytes.size());
    }
    return out;
}

bool isUtf8(std::string_view text)
{
    while (!text.empty()) {
        char32_t code = 0;
        const std::size_t n = decode(text, code);
        if (n == 0)
            return false;
        text.remove_prefix(n);
    }
    return true;
}

} // namespace gridloom
