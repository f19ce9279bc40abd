// weights.h: what each kind of evidence is worth, in log-odds. One readable table; each term that applies
// to a suspect is a line that the user sees (--explain).
//
// Units:   natural log-odds; +1 makes a suspect 2.7 times as likely against every other.
// Source:  ordering from the missing-rank and scoring experiments in the project's engine notes (kernel
//          evidence and peer names are worth most, then collective numbers, then clocks); levels set by hand
//          on the handed cases and on cases written from the signature reference, to be fitted on the
//          simulator.
#ifndef FIRSTFAULT_CORRELATE_WEIGHTS_H_
#define FIRSTFAULT_CORRELATE_WEIGHTS_H_

namespace firstfault::weights {

// What the suspect's own line says. A cause in its own right starts ahead of anything it could explain.
inline constexpr double kInitiating = 2.6;
inline constexpr double kAmbiguous = 0.4;
inline constexpr double kCollateral = -2.0;
inline constexpr double kFatal = 0.5;            // ends the process or the device
inline constexpr double kHardwareKernel = 0.8;   // the kernel speaks: no user code could print it
inline constexpr double kLoggedAsWarning = -2.0; // caught and survived, unless a traceback follows
inline constexpr double kGenericException = -0.4;  // "some exception": may be an effect with its own text
inline constexpr double kWithoutTraceback = -0.6;  // its last line alone: it may have been caught and printed

// What happened around it.
inline constexpr double kExplainsOthers = 0.8;      // other ranks or hosts show only effects
inline constexpr double kAlone = 0.5;               // nobody else has a cause of its own
inline constexpr double kLaterInSameProcess = -2.2; // another cause stands before it in the same process
inline constexpr double kOnlyAnEnd = -0.4;          // an end without a reason may be an effect of what no log shows
inline constexpr double kLauncherPoints = 0.8;      // the launcher saw this rank end first on its host
inline constexpr double kExitAgrees = 0.4;          // its exit code is one that a cause leaves
inline constexpr double kEndReported = 0.6;         // a launcher reports its end, and that nobody asked for it
inline constexpr double kExplainsCause = 1.0;       // it explains another line that could be a cause
inline constexpr double kWarnedOnOneHost = 1.2;     // its own warning stands on one host only
inline constexpr double kOnlyWithRemarks = 0.8;     // it alone warned while the job trained, and all ranks are heard
inline constexpr double kNamesAnother = -1.2;       // its line names somebody else
inline constexpr double kNotOfThisJob = -4.0;       // the victim is no process of the job: more than an own line is worth
inline constexpr double kJobWentOn = -4.0;          // the job trained behind it, which it would have ended: more than an own line is worth
inline constexpr double kWaitedAfterwards = -2.6;   // its rank then entered what the others wait in: it takes the own line's worth back
inline constexpr double kStoppedAfterCause = -2.0;  // a stop signal where a cause is seen
inline constexpr double kOddOneOut = 1.2;           // the few ranks with another version or collective than the many
// A known exception that may be an effect elsewhere, but speaks of this process's own files and services: raised and
// never caught it is worth what an unknown one is (kInitiating + kGenericException).
inline constexpr double kRaised = 1.8;
inline constexpr double kStoppedFirst = 1.2;        // a stop signal before anything failed
inline constexpr double kInterrupted = 1.0;         // by signal 2: a keyboard or a user's script, no failing process
inline constexpr double kStoppedAlike = 0.8;        // most launchers of the job got it
inline constexpr double kAfterWatchdog = -0.8;      // it came behind this rank's own watchdog time-out
inline constexpr double kAfterEffects = -0.8;       // by aligned clocks another host showed an effect before it; as above,
                                                    // since lines may be printed late
inline constexpr double kBogusRequest = -2.4;       // an impossible size behind another failure: read from a broken exchange

// Accusations: lines of others that name it.
inline constexpr double kAccusedRank = 1.1;         // per accuser, at most kAccusersMax
inline constexpr double kAccusedHost = 0.6;
inline constexpr double kNamedBySeveral = 0.8;      // and it has no line of its own to excuse it
inline constexpr int kAccusersMax = 3;
inline constexpr double kAccusedButWaiting = -1.0;  // it reports a time-out itself: it waits too

// Silence and collectives.
inline constexpr double kOnlyOneSilent = 2.6;   // all others of the group timed out, this one did not
inline constexpr double kFewSilent = 1.2;
inline constexpr double kBehindInGroup = 2.4;   // enqueued less than the others
inline constexpr double kOtherOperation = 2.4;  // same number, another operation or size
inline constexpr double kScalarAmongGradients = 2.0;  // it reduces one number (a metric) where others reduce gradients
inline constexpr double kKilledSilently = 1.8;  // ended by a signal that leaves no text
inline constexpr double kEndedSilently = 1.4;   // ended by a code of its own, or told to stop when nobody else was
inline constexpr double kBusyElsewhere = 0.9;   // alive in a long phase of its own while others waited

// The hypothesis that none of the suspects is the cause.
inline constexpr double kNobody = 1.2;

// Naming an innocent rank is worse than naming none: below this probability, or this close to another
// place, the verdict is "undetermined".
inline constexpr double kNameAt = 0.75;
inline constexpr double kNameAgainstNext = 3.0;
// No log proves more than this; ranks that no log mentions lower it further.
inline constexpr double kConfidenceMax = 0.97;
inline constexpr double kConfidenceMissingRanks = 0.9;

}  // namespace firstfault::weights

#endif  // FIRSTFAULT_CORRELATE_WEIGHTS_H_
