// SPDX-License-Identifier: Apache-2.0
// The register formats that the simulated devices use (docs/simulator.md, "Register maps").
#pragma once

#include "core/codec/registers.h"

namespace gridloom {

inline constexpr RegisterFormat kBit{RegisterType::Bool};
inline constexpr RegisterFormat kUInt16{RegisterType::UInt16};
inline constexpr RegisterFormat kUInt16Tenths{RegisterType::UInt16, ByteOrder::BigEndian, 0.1};
inline constexpr RegisterFormat kUInt16Hundredths{RegisterType::UInt16, ByteOrder::BigEndian, 0.01};
inline constexpr RegisterFormat kInt16Tenths{RegisterType::Int16, ByteOrder::BigEndian, 0.1};
inline constexpr RegisterFormat kInt32{RegisterType::Int32};
inline constexpr RegisterFormat kInt32Swapped{RegisterType::Int32, ByteOrder::WordSwapped};
inline constexpr RegisterFormat kUInt32{RegisterType::UInt32};
inline constexpr RegisterFormat kUInt32Swapped{RegisterType::UInt32, ByteOrder::WordSwapped};
inline constexpr RegisterFormat kUInt64{RegisterType::UInt64};
inline constexpr RegisterFormat kFloat32{RegisterType::Float32};
inline constexpr RegisterFormat kFloat32Swapped{RegisterType::Float32, ByteOrder::WordSwapped};

} // namespace gridloom
