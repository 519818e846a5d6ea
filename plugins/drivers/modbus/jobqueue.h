// SPDX-License-Identifier: Apache-2.0
// JobQueue: what waits for its turn, in order, and the jobs that are over and will be used again: in steady state neither
// takes memory. Driver's thread.
#pragma once

#include "jobs.h"

#include <vector>

namespace gridloom::modbus {

template<typename Job>
class JobQueue {
public:
    /// An empty job, not queued.
    std::unique_ptr<Job> make()
    {
        if (m_over.empty())
            return std::make_unique<Job>();
        auto job = std::move(m_over.back());
        m_over.pop_back();
        return job;
    }
    /// For a job that is over.
    void recycle(std::unique_ptr<Job> job)
    {
        *job = Job{};
        m_over.push_back(std::move(job));
    }

    void pushBack(std::unique_ptr<Job> job) { m_jobs.push_back(std::move(job)); }
    void pushFront(std::unique_ptr<Job> job) { m_jobs.insert(m_jobs.begin(), std::move(job)); }
    /// Takes out the first job for which `isWanted(job)` is true; null when there is none.
    template<typename Predicate>
    std::unique_ptr<Job> take(Predicate isWanted)
    {
        const auto it = std::find_if(m_jobs.begin(), m_jobs.end(), [&](const auto &job) { return isWanted(*job); });
        if (it == m_jobs.end())
            return nullptr;
        auto job = std::move(*it);
        m_jobs.erase(it);
        return job;
    }

    auto begin() const { return m_jobs.begin(); }
    auto end() const { return m_jobs.end(); }

private:
    std::vector<std::unique_ptr<Job>> m_jobs; ///< a few: a channel has no more than its blocks and outputs
    std::vector<std::unique_ptr<Job>> m_over;
};

} // namespace gridloom::modbus
