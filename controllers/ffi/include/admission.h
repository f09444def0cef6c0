/* Generated from controllers/ffi/src: do not edit. INSTA_UPDATE=always cargo test -p admission-ffi writes it anew. */

#ifndef ADMISSION_H
#define ADMISSION_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// What becomes of a job, or what the host does next.
typedef enum AdmissionKind {
  // The job is in: report its end.
  ADMISSION_KIND_ADMIT = 0,
  // The job is refused.
  ADMISSION_KIND_REFUSE = 1,
  // The job is held: `admission_poll` tells what becomes of it, unless it leaves.
  ADMISSION_KIND_HOLD = 2,
  // Poll again at `at_ns`.
  ADMISSION_KIND_WAKE_AT = 3,
  // Nothing to do until the next call.
  ADMISSION_KIND_IDLE = 4,
  // A null pointer, a number in use, or a seat that has failed: the job is not counted.
  ADMISSION_KIND_INVALID = 5,
} AdmissionKind;

// How a job ended.
typedef enum AdmissionOutcome {
  // Answered as asked.
  ADMISSION_OUTCOME_SERVED = 0,
  // Refused by the service because of load.
  ADMISSION_OUTCOME_OVERLOADED = 1,
  // Not answered in time.
  ADMISSION_OUTCOME_TIMED_OUT = 2,
  // Answered with an error.
  ADMISSION_OUTCOME_FAILED = 3,
  // The sender has left.
  ADMISSION_OUTCOME_ABANDONED = 4,
  // Nothing that a policy should learn from.
  ADMISSION_OUTCOME_IGNORED = 5,
} AdmissionOutcome;

// A policy with the jobs that it has admitted and holds.
typedef struct AdmissionSeat AdmissionSeat;

// An answer of a seat.
typedef struct AdmissionAnswer {
  enum AdmissionKind kind;
  // Advice with a refusal: 1 if a retry is of no use.
  uint8_t never_retry;
  // The job of an admission or refusal.
  uint64_t id;
  // The time of the next poll, nanoseconds.
  uint64_t at_ns;
  // Advice with a refusal: time before a retry, nanoseconds; 0: unsaid.
  uint64_t retry_after_ns;
  // The reason of a refusal, a static string; null otherwise.
  const char *reason;
} AdmissionAnswer;

// A job that asks to be let in. Zeros are a first attempt of nobody in particular.
typedef struct AdmissionJob {
  // Its number, of which there is one at a time.
  uint64_t id;
  // The user, session or address that asks; 0: unknown.
  uint64_t user;
  // When its sender stops waiting, nanoseconds of the host's clock; 0: unknown.
  uint64_t deadline_ns;
  // The customer that is charged.
  uint32_t customer;
  // The type of request.
  uint16_t kind;
  // The class of its user.
  uint8_t user_class;
  // 1 to 4: SHEDDABLE, SHEDDABLE_PLUS, CRITICAL, CRITICAL_PLUS; 0: unknown, which is CRITICAL.
  uint8_t criticality;
  // 0 for the first attempt, then the number of the retry.
  uint8_t attempt;
} AdmissionJob;

// Receives a count or gauge: `context` as passed, its name (valid during the call), its value.
typedef void (*AdmissionVisit)(void *context, const char *name, double value);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a seat. `config`: JSON, `{"policy": "gradient2", "settings": {"limit_max": 50}, "objective_ms": 500, "percentile": 99,
// "capacity": 8, "seed": 1}`, of which the policy alone must be there. Null: it cannot be made, and `error` has the reason, cut to
// `error_size` bytes with the final zero.
//
// # Safety
// `config` is null or a string that ends with a zero byte; `error` is null or has `error_size` bytes.
struct AdmissionSeat *admission_new(const char *config,
                                    char *error,
                                    size_t error_size);

// Frees a seat. Null is nothing.
//
// # Safety
// `seat` is null, or was made by [`admission_new`]; nobody uses it any more.
void admission_free(struct AdmissionSeat *seat);

// Decides on a job: ADMIT, REFUSE, HOLD, or INVALID.
//
// # Safety
// `seat` as in [`admission_free`], in use; `job` is null or one.
struct AdmissionAnswer admission_offer(const struct AdmissionSeat *seat,
                                       uint64_t now_ns,
                                       const struct AdmissionJob *job);

// Reports the start of work on a job, after a queue of the service's own. False: it is not inside.
//
// # Safety
// As [`admission_offer`].
bool admission_started(const struct AdmissionSeat *seat, uint64_t now_ns, uint64_t id);

// Reports the end of an admitted job; `outcome`: an `AdmissionOutcome`. False: it is not inside, or there is no such outcome.
//
// # Safety
// As [`admission_offer`].
bool admission_ended(const struct AdmissionSeat *seat,
                     uint64_t now_ns,
                     uint64_t id,
                     uint32_t outcome);

// Reports that the sender of a job has left, held or inside. False: it is neither.
//
// # Safety
// As [`admission_offer`].
bool admission_left(const struct AdmissionSeat *seat, uint64_t now_ns, uint64_t id);

// What is to be done now: ADMIT or REFUSE a held job and poll again, WAKE_AT, or IDLE. Call it after every other call, and when it is time.
//
// # Safety
// As [`admission_offer`].
struct AdmissionAnswer admission_poll(const struct AdmissionSeat *seat,
                                      uint64_t now_ns);

// Passes each count and gauge to `visit`, which must not call this seat. Returns how many there were.
//
// # Safety
// As [`admission_offer`]; `visit` is null or a function that takes `context`.
size_t admission_gauges(const struct AdmissionSeat *seat,
                        AdmissionVisit visit,
                        void *context);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ADMISSION_H */
