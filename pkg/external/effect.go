package external

import (
	"net"
	"slices"

	"github.com/moorage-dev/moorage/internal/panics"
)

// An Effect says whether a request that returned an error had an effect.
type Effect int

const (
	// EffectUnknown means that the error does not show whether the request had an effect. It is the zero value.
	EffectUnknown Effect = iota
	// EffectNone means that the request had no effect, because it was not sent or the system refused it.
	EffectNone
	// EffectPossible means that the request may have had an effect. The response was lost, or the system failed while it
	// served the request.
	EffectPossible
)

// MaybeCreated marks an error of a create after which something may have been created. The mark counts even if the
// status of err is a refusal.
//
// If a Create sends several requests, it has to mark the error of each request but the first, because the requests
// before may have had an effect. The text of the result is the text of err. For nil it returns nil.
func MaybeCreated(err error) error {
	if err == nil {
		return nil
	}

	return &maybeCreated{err: err}
}

// IsMaybeCreated reports whether err or an error it wraps was marked by MaybeCreated. If err was also marked by
// NotCreated, use [EffectOf], which decides between the two marks.
func IsMaybeCreated(err error) bool { return has[*maybeCreated](err) }

type maybeCreated struct{ err error }

func (e *maybeCreated) Error() string { return e.err.Error() }
func (e *maybeCreated) Unwrap() error { return e.err }

// EffectOf returns whether err shows that its request had an effect. For nil it returns EffectUnknown. It never panics,
// and may be called concurrently.
//
// A mark decides: EffectNone for [NotCreated] and [AlreadyExists], EffectPossible for [MaybeCreated]. Of several marks
// the outermost counts, and errors that the outermost mark wraps are not read.
//
// EffectNone without a mark:
//
//   - No connection was made: a *net.OpError of a dial, also to or by a proxy, or a *net.DNSError. What the error wraps
//     does not matter.
//   - A connection was refused (ECONNREFUSED).
//   - The TLS handshake failed in one of these ways: the client did not accept the certificate of the server, the
//     server does not speak TLS, the server did not answer in time, or the server answered the first message of the
//     handshake by an alert.
//   - The status of an HTTP response is one of the 400s except 408, 409, 425 and 499. EffectOf finds a status as
//     [IsRefused] does, and also in an exported field Code.
//   - The code of a gRPC status (method GRPCStatus) is InvalidArgument, NotFound, PermissionDenied, Unauthenticated,
//     FailedPrecondition, OutOfRange, Unimplemented or ResourceExhausted.
//
// EffectPossible without a mark:
//
//   - a panic, any other *net.OpError, a deadline, or a cancelled context
//   - a connection that broke (also where net/http has only a text for that), or an HTTP/2 stream that was reset
//   - a TLS alert about the certificate of the client: in TLS 1.3 it arrives after the request was sent
//   - the HTTP status 408, 409, 425, 499, and the 200s, the 300s and the 500s
//   - any other code of gRPC, and ResourceExhausted if a message was too large
//   - a *url.Error of a request by another method than GET, HEAD, OPTIONS and TRACE, if nothing else is known
//
// EffectUnknown is the result for all other errors. It is also the result for a *url.Error with a text that net/http,
// an OAuth2 transport or client-go has for a request that was not sent.
//
// A client must not follow redirects in a create: an error of a connection that was not made does not show whether an
// earlier request was served.
//
// If an error and the error it wraps have different effects, EffectPossible wins over EffectNone, and both win over
// EffectUnknown. Joined errors are EffectPossible if one of them is, and EffectNone only if all of them are.
func EffectOf(err error) Effect { return reading{codes: true}.of(err, deepest) }

// IsRefused reports whether err says that its request had no effect. That is the case if no connection was made, if the
// system refused the request, or if a mark says so. IsRefused is true for the errors for which [EffectOf] returns
// EffectNone, with one exception. It does not read a field Code, which is a status in some clients, and another value
// in others.
//
// A refusal is a status of the 400s except 408, 409, 425 and 499. It is read from a Kubernetes
// API error, from a method StatusCode or HTTPStatusCode, and from an exported field StatusCode
// or Response (an *http.Response). The code of a gRPC status is read as well.
//
// A Create that sends one request, which nothing on the way repeats, may mark such an error:
//
//	if external.IsRefused(err) {
//		return external.NotCreated(err)
//	}
//
// IsRefused proves nothing in two cases: one of several requests of Create has succeeded, or the client repeats a
// request by itself and returns only the last error.
func IsRefused(err error) bool { return reading{}.of(err, deepest) == EffectNone }

// deepest is the maximum depth to which wrapped errors are read, because an error may wrap itself.
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
	if found == EffectUnknown && (answers(func() bool { return timedOut(err) }) ||
		answers(func() bool { return unanswered(err) })) {
		return EffectPossible
	}

	return found
}

// whole returns the effect of an error whose wrapped errors need not be read, because it determines the effect by
// itself.
func whole(err error) (effect Effect, whole bool) {
	switch e := err.(type) { //nolint:errorlint // each error of the tree is read by itself
	case nil:
		return EffectUnknown, true
	case *notCreated, *alreadyExists:
		return EffectNone, true
	case *maybeCreated, *panics.Error:
		return EffectPossible, true
	case *net.OpError:
		return ofConnection(e), true
	case *net.DNSError:
		if e == nil {
			return EffectUnknown, true
		}

		return EffectNone, true
	default:
		return EffectUnknown, false
	}
}

// wrapped returns the effect of the errors that err wraps.
func (r reading) wrapped(err error, depth int) (effect Effect) {
	answers(func() bool {
		switch e := err.(type) { //nolint:errorlint // each error of the tree is read by itself
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
	case len(effects) == 0 || slices.Contains(effects, EffectUnknown):
		return EffectUnknown
	default:
		return EffectNone
	}
}

// own returns the effect of an error without those that it wraps.
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

// answers returns the result of a method of a foreign error, or false if it panics.
func answers(ask func() bool) (answer bool) {
	_ = panics.Call(func() error {
		answer = ask()

		return nil
	})

	return answer
}
