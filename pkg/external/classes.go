package external

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Bounds of the values that an external system may set.
const (
	// MinRetryAfter is the shortest delay that an error may request, so that no retry
	// follows at once.
	MinRetryAfter = 100 * time.Millisecond
	// MaxRetryAfter is the longest delay that an error may request; longer ones are
	// reduced to it.
	MaxRetryAfter = time.Hour
	// MaxHandle is how many bytes the handle of an operation may have, because it is
	// stored with the object.
	MaxHandle = 1024
	// maxScope bounds the name of a quota, which labels a condition.
	maxScope = 64
)

// RetryAfter marks err as one to retry after d, which replaces the backoff. It is kept
// within MinRetryAfter and MaxRetryAfter. With a d of zero or less err is returned
// unchanged. The
// text stays that of err; nil stays nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil || d <= 0 {
		return err
	}

	return &retryAfter{after: bounded(d), err: err}
}

// AsRetryAfter returns the delay before the next attempt, and whether err or an error it
// wraps was marked with one, by RetryAfter or by Throttled. If by both, the longer one
// counts; of several marks of a kind, the outermost.
func AsRetryAfter(err error) (time.Duration, bool) {
	var after time.Duration
	if r, ok := find[*retryAfter](err); ok {
		after = r.after
	}
	if t, ok := find[*throttled](err); ok {
		after = max(after, t.after)
	}

	return after, after > 0
}

// Throttled marks err as the answer that a quota of the external system is exceeded: scope
// names the quota, at most 64 bytes of it, and is empty if it is that of the whole
// connection. d is the delay that the system requests, at most MaxRetryAfter; zero or less
// if it requests none. All objects that share the quota slow down. The text stays that of
// err; nil stays nil.
func Throttled(scope string, d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	if len(scope) > maxScope {
		scope = scope[:maxScope]
	}
	t := &throttled{scope: strings.ToValidUTF8(scope, ""), err: err}
	if d > 0 {
		t.after = bounded(d)
	}

	return t
}

// AsThrottled returns the scope and the time with which err or an error it wraps
// was marked by Throttled, and whether it was. The time is zero if the system
// requests none. The outermost mark wins.
func AsThrottled(err error) (scope string, after time.Duration, ok bool) {
	t, ok := find[*throttled](err)
	if !ok {
		return "", 0, false
	}

	return t.scope, t.after, true
}

// Unauthorized marks err as the answer that the credentials are not accepted, so that no
// call over this connection can succeed until they change. It is not for valid credentials
// that lack one permission. The text
// stays that of err; nil stays nil.
func Unauthorized(err error) error {
	if err == nil {
		return nil
	}

	return &unauthorized{err: err}
}

// IsUnauthorized reports whether err or an error it wraps was marked by Unauthorized. An
// unmarked error of a Kubernetes API server does not count, because a client may call more
// than one.
func IsUnauthorized(err error) bool { return has[*unauthorized](err) }

// Unavailable marks err as one that shows that the external system as a whole does not work: it cannot be reached, or
// returns that. Calls for other objects fail as well. The text stays that of err; nil stays nil.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}

	return &unavailable{err: err}
}

// IsUnavailable reports whether err or an error it wraps was marked by
// Unavailable.
func IsUnavailable(err error) bool { return has[*unavailable](err) }

// NotFound marks err as the system's positive answer that the external resource does not
// exist, so that a client need not distinguish it from other errors at each return. Mark
// only an answer about the resource itself: a finalizer may be removed because of it. On an
// error of Create it does not mean that nothing was created: see NotCreated. The text stays that of err; nil stays nil.
func NotFound(err error) error {
	if err == nil {
		return nil
	}

	return &notFound{err: err}
}

// IsNotFound reports whether err or an error it wraps was marked by NotFound. An
// unmarked error of a Kubernetes API server does not count: it may be about a Secret.
func IsNotFound(err error) bool { return has[*notFound](err) }

// An Operation is a long-running operation of an external system.
type Operation struct {
	// Handle identifies it in the system. It is empty if there is none.
	Handle string
	// After is the delay before the next request for it. Zero leaves that to the caller.
	After time.Duration
}

// InProgress returns an error that reports that a request was accepted and its operation is
// in progress. A call that returns it has not failed.
//
// The handle identifies the operation for the client. It is stored with the object and
// returned by OperationHandle. It must not be secret. A handle of more than MaxHandle bytes,
// or that is not UTF-8, cannot be stored and is dropped, because a truncated one would be
// another one. After is the delay before the next observation, kept within MinRetryAfter and
// MaxRetryAfter; zero or less leaves that to the reconciler.
func InProgress(handle string, after time.Duration) error {
	if len(handle) > MaxHandle || !utf8.ValidString(handle) {
		handle = ""
	}
	o := &inProgress{Operation{Handle: handle}}
	if after > 0 {
		o.After = bounded(after)
	}

	return o
}

// AsInProgress returns the operation that err or an error it wraps reports as in progress,
// and whether there is one. The outermost wins.
func AsInProgress(err error) (Operation, bool) {
	o, ok := find[*inProgress](err)
	if !ok {
		return Operation{}, false
	}

	return o.Operation, true
}

// WithOperationHandle returns a context with the handle of the operation that is in progress
// for an object. It is for reconcilers.
func WithOperationHandle(ctx context.Context, handle string) context.Context {
	return context.WithValue(ctx, handleKey{}, handle)
}

// OperationHandle returns the handle that the client passed to InProgress in an earlier call
// for the same object, or "" if no operation is in progress.
func OperationHandle(ctx context.Context) string {
	handle, _ := ctx.Value(handleKey{}).(string)

	return handle
}

type handleKey struct{}

// RetryAfterHeader returns the delay of a Retry-After header of HTTP, in seconds or as a date
// (RFC 9110, 10.2.3), for RetryAfter and Throttled. It is zero if the header is empty or
// malformed, or if the date is past. now is the current time.
func RetryAfterHeader(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if at, err := http.ParseTime(value); err == nil {
		return bounded(at.Sub(now))
	}
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil || !(seconds > 0) {
		return 0
	}

	return bounded(time.Duration(min(seconds, MaxRetryAfter.Seconds()) * float64(time.Second)))
}

// bounded keeps a delay within the bounds; zero or less becomes zero.
func bounded(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}

	return min(max(d, MinRetryAfter), MaxRetryAfter)
}

func find[E error](err error) (found E, ok bool) {
	if err == nil {
		return found, false
	}
	var target E
	ok = errors.As(err, &target)

	return target, ok
}

type retryAfter struct {
	after time.Duration
	err   error
}

func (e *retryAfter) Error() string { return e.err.Error() }
func (e *retryAfter) Unwrap() error { return e.err }

type throttled struct {
	scope string
	after time.Duration
	err   error
}

func (e *throttled) Error() string { return e.err.Error() }
func (e *throttled) Unwrap() error { return e.err }

type unauthorized struct{ err error }

func (e *unauthorized) Error() string { return e.err.Error() }
func (e *unauthorized) Unwrap() error { return e.err }

type unavailable struct{ err error }

func (e *unavailable) Error() string { return e.err.Error() }
func (e *unavailable) Unwrap() error { return e.err }

type notFound struct{ err error }

func (e *notFound) Error() string { return e.err.Error() }
func (e *notFound) Unwrap() error { return e.err }

type inProgress struct{ Operation }

func (e *inProgress) Error() string { return "the external system is still working on it" }
