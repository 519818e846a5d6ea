// SPDX-License-Identifier: Apache-2.0
#include "core/quality.h"

namespace gridloom {

std::string_view severityName(Quality q)
{
    return isGood(q) ? "good" : isBad(q) ? "bad" : "uncertain";
}

std::string_view qualityName(Quality q)
{
    switch (q) {
    case Quality::Good: return "Good";
    case Quality::UncertainLastUsable: return "Uncertain_LastUsableValue";
    case Quality::UncertainSubNormal: return "Uncertain_SubNormal";
    case Quality::BadWaitingForInitialData: return "Bad_WaitingForInitialData";
    case Quality::BadConfigurationError: return "Bad_ConfigurationError";
    case Quality::BadDeviceFailure: return "Bad_DeviceFailure";
    case Quality::BadCommunicationError: return "Bad_CommunicationError";
    case Quality::BadNotConnected: return "Bad_NotConnected";
    case Quality::BadNotSupported: return "Bad_NotSupported";
    case Quality::BadOutOfRange: return "Bad_OutOfRange";
    case Quality::BadOutOfService: return "Bad_OutOfService";
    case Quality::BadEvaluation: return "Bad_Evaluation";
    case Quality::BadNoData: return "Bad_NoData";
    }
    return "";
}

} // namespace gridloom
