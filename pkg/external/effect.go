package external

import (
	"net"
	"slices"

	"github.com/moorage-dev/moorage/internal/panics"
)

// An Effect is what an error tells of the effect of the request that it is about.
type Effect int

const (
	// EffectUntold says that the error tells neither. It is the zero value.
	EffectUntold Effect = iota
	// EffectNone says that the request surely had no effect: it was not sent, or it was refused.
	EffectNone
	// EffectPossible says that the request may have had its effect: its answer was lost, or
	// the system failed while it served the request.
	EffectPossible
)

// MaybeCreated marks err, returned by a create, as one after which something may have been
// created, whatever it says by itself: a Create of several requests returns so the error of
// any but the first. The text stays that of err; nil stays nil.
func MaybeCreated(err error) error {
	if err == nil {
		return nil
	}

	return &maybeCreated{err: err}
}

// IsMaybeCreated reports whether err or an error it wraps was marked by MaybeCreated. If it
// was marked by NotCreated as well, [EffectOf] tells which counts.
func IsMaybeCreated(err error) bool { return has[*maybeCreated](err) }

type maybeCreated struct{ err error }

func (e *maybeCreated) Error() string { return e.err.Error() }
func (e *maybeCreated) Unwrap() error { return e.err }

// EffectOf returns what err tells of the effect of the request that it is about. Of nil it is
// EffectUntold. It never panics, and may be called concurrently.
//
// Of the marks [NotCreated], [AlreadyExists] (which say none) and [MaybeCreated] the outermost
// counts, and nothing within it. Without a mark these tell:
//
//   - a connection that was not made (a *net.OpError of a dial): none, whatever it wraps;
//   - a panic, any other *net.OpError, a deadline, a cancelled context, a connection that
//     broke, an HTTP/2 stream that was reset: possible;
//   - the status of an HTTP response, see [IsRefused], and also in an exported field Code;
//   - the code of a gRPC status, of a method GRPCStatus: InvalidArgument, NotFound,
//     PermissionDenied, Unauthenticated, FailedPrecondition, OutOfRange, Unimplemented and
//     ResourceExhausted: none, unless a message was too large; the others: possible.
//
// If an error and what it wraps differ, possible counts before none. Of several errors that
// are joined, one that says possible is enough, and all have to say none.
func EffectOf(err error) Effect { return reading{codes: true}.of(err, deepest) }

// IsRefused reports whether err says by itself that the one request it is about
// had no effect: no connection was made to send it, or the system answered that
// the request is at fault. The latter is told by the status of a Kubernetes API
// error, by a method StatusCode or HTTPStatusCode, and by an exported field StatusCode or
// Response (of an *http.Response), as the errors of many clients have it: of the 400s all but
// 408, 409, 425 and 499. It is also told by the code of a gRPC status. It is what [EffectOf]
// calls EffectNone, read without fields called Code, whose meaning nobody knows.
//
// A Create that consists of one request, which nothing repeats under way, may
// mark such an error:
//
//	if external.IsRefused(err) {
//		return external.NotCreated(err)
//	}
//
// It proves nothing for a Create of several requests, one of which succeeded, nor
// for a client that tries again by itself and returns its last error.
func IsRefused(err error) bool { return reading{}.of(err, deepest) == EffectNone }

// Deepest is how deep an error is read. No honest one is deeper; one that wraps itself is.
const deepest = 100

// A reading is how errors are read.
type reading struct {
	codes bool // an exported field Code counts as the status of a response
}

func (r reading) of(err error, depth int) Effect {
	if effect, whole := whole(err); whole {
		return effect
	}
	if depth == 0 {
		return EffectPossible
	}
	found := max(r.own(err), r.wrapped(err, depth-1))
	if found == EffectUntold && answers(func() bool { return timedOut(err) }) {
		return EffectPossible
	}

	return found
}

// Whole returns what an error tells for all that it wraps.
func whole(err error) (effect Effect, whole bool) {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is asked by itself
	case nil:
		return EffectUntold, true
	case *notCreated, *alreadyExists:
		return EffectNone, true
	case *maybeCreated, *panics.Error:
		return EffectPossible, true
	case *net.OpError:
		if e != nil && e.Op == "dial" {
			return EffectNone, true
		}

		return EffectPossible, true
	default:
		return EffectUntold, false
	}
}

// Wrapped returns what the errors tell that err wraps.
func (r reading) wrapped(err error, depth int) (effect Effect) {
	answers(func() bool {
		switch e := err.(type) { //nolint:errorlint // each error of the tree is asked by itself
		case interface{ Unwrap() error }:
			effect = r.of(e.Unwrap(), depth)
		case interface{ Unwrap() []error }:
			effect = r.joined(e.Unwrap(), depth)
		}

		return true
	})

	return effect
}

func (r reading) joined(errs []error, depth int) Effect {
	effects := make([]Effect, 0, len(errs))
	for _, err := range errs {
		if err != nil {
			effects = append(effects, r.of(err, depth))
		}
	}
	switch {
	case slices.Contains(effects, EffectPossible):
		return EffectPossible
	case len(effects) == 0 || slices.Contains(effects, EffectUntold):
		return EffectUntold
	default:
		return EffectNone
	}
}

// Own returns what an error tells apart from what it wraps.
func (r reading) own(err error) (effect Effect) {
	for _, evidence := range evidences {
		answers(func() bool {
			effect = max(effect, evidence(err))

			return true
		})
	}
	if r.codes {
		answers(func() bool {
			effect = max(effect, ofStatus(field(err, "Code")))

			return true
		})
	}

	return effect
}

// Answers returns what a method of somebody else's error answers, or false if it panics.
func answers(ask func() bool) (answer bool) {
	_ = panics.Call(func() error {
		answer = ask()

		return nil
	})

	return answer
}
