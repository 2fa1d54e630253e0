// All public headers except asio.hpp and the SPI.
#pragma once

#include <mortise/attempt.hpp>
#include <mortise/boot_clock.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/counting_semaphore.hpp>
#include <mortise/election.hpp>
#include <mortise/error.hpp>
#include <mortise/fenced.hpp>
#include <mortise/finding.hpp>
#include <mortise/format.hpp>
#include <mortise/hold.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/mutex.hpp>
#include <mortise/observer.hpp>
#include <mortise/promises.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>
#include <mortise/watch.hpp>
