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
	// MinRetryAfter is the shortest delay that an error may request. It prevents immediate retries.
	MinRetryAfter = 100 * time.Millisecond
	// MaxRetryAfter is the longest delay that an error may request. Longer delays are reduced to it.
	MaxRetryAfter = time.Hour
	// MaxHandle is the maximum length of the handle of an operation, in bytes. A handle is stored in an annotation of
	// the object.
	MaxHandle = 1024
	// maxScope bounds the name of a quota, which labels a condition.
	maxScope = 64
)

// RetryAfter marks err as an error after which the reconciler retries with delay d instead of its backoff. The delay
// is limited to the range from MinRetryAfter to MaxRetryAfter. If d is zero or less, RetryAfter returns err
// unchanged. The text of the result is the text of err. For nil it returns nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil || d <= 0 {
		return err
	}

	return &retryAfter{after: bounded(d), err: err}
}

// AsRetryAfter returns the delay before the next attempt that RetryAfter or Throttled set on err or an error it wraps.
// If neither function set a delay, AsRetryAfter returns false. If both functions set a delay, the longer delay counts.
// Of several marks of the same function, the outermost mark counts.
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

// Throttled marks err as the response that a quota of the external system is exceeded. All objects that share the
// quota then slow down.
//
// The scope names the quota. Only its first 64 bytes are used. An empty scope means the quota of the whole connection.
// The argument d is the delay that the system requests, at most MaxRetryAfter. If d is zero or less, the system
// requests no delay. The text of the result is the text of err. For nil it returns nil.
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

// AsThrottled returns the scope and the delay that Throttled set on err or an error it wraps. If Throttled was not
// applied, ok is false. The delay is zero if the system requests none. The outermost mark wins.
func AsThrottled(err error) (scope string, after time.Duration, ok bool) {
	t, ok := find[*throttled](err)
	if !ok {
		return "", 0, false
	}

	return t.scope, t.after, true
}

// Unauthorized marks err as the response that the system does not accept the credentials. No call over this
// connection can succeed until the credentials change. Do not use it for valid credentials that lack one permission.
// The text of the result is the text of err. For nil it returns nil.
func Unauthorized(err error) error {
	if err == nil {
		return nil
	}

	return &unauthorized{err: err}
}

// IsUnauthorized reports whether err or an error it wraps was marked by Unauthorized. The Unauthorized error of a
// Kubernetes API server does not count without the mark, because a client may call several API servers.
func IsUnauthorized(err error) bool { return has[*unauthorized](err) }

// Unavailable marks err as an error that shows that the whole external system does not work. The system cannot be
// reached, or its response says that it does not work. Calls for other objects fail as well. The text of the result
// is the text of err. For nil it returns nil.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}

	return &unavailable{err: err}
}

// IsUnavailable reports whether err or an error it wraps was marked by
// Unavailable.
func IsUnavailable(err error) bool { return has[*unavailable](err) }

// NotFound marks err as the response of the system that the external resource does not exist. A client may return the
// marked error from any call, without distinguishing it from other errors. Mark only a response about the resource
// itself, because the reconciler may remove the finalizer after such a response.
//
// A marked error of Create does not prove that nothing was created; NotCreated does. The text of the result is the text
// of err. For nil it returns nil.
func NotFound(err error) error {
	if err == nil {
		return nil
	}

	return &notFound{err: err}
}

// IsNotFound reports whether err or an error it wraps was marked by NotFound. The NotFound error of a Kubernetes API
// server does not count without the mark, because it may be about another object, such as a Secret.
func IsNotFound(err error) bool { return has[*notFound](err) }

// An Operation is a long-running operation of an external system.
type Operation struct {
	// Handle identifies the operation in the external system. It is empty if the operation has no identifier.
	Handle string
	// After is the delay before the next request for the operation. Zero means that the caller chooses the delay.
	After time.Duration
}

// InProgress returns an error that reports that the system has accepted a request and its operation is in progress. A
// call that returns this error has not failed.
//
// The handle identifies the operation for the client. It is stored in the object, and OperationHandle returns it in
// later calls. It must not be secret. A handle is dropped if it has more than MaxHandle bytes or is not UTF-8.
//
// The argument after is the delay before the next observation. It is limited to the range from MinRetryAfter to
// MaxRetryAfter. If it is zero or less, the reconciler chooses the delay.
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

// AsInProgress returns the operation that err or an error it wraps reports as in progress. If there is none, it
// returns false. The outermost operation wins.
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

// RetryAfterHeader returns the delay of an HTTP header Retry-After, for use with RetryAfter and Throttled. The value
// is a number of seconds or a date (RFC 9110, 10.2.3). The delay is zero if the value is empty or malformed, or if
// the date is past. The argument now is the current time.
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

// Unauthorized marks the error for package connection, which cannot import this package.
func (e *unauthorized) Unauthorized() bool { return true }

type unavailable struct{ err error }

func (e *unavailable) Error() string { return e.err.Error() }
func (e *unavailable) Unwrap() error { return e.err }

type notFound struct{ err error }

func (e *notFound) Error() string { return e.err.Error() }
func (e *notFound) Unwrap() error { return e.err }

type inProgress struct{ Operation }

func (e *inProgress) Error() string { return "the external system is still working on it" }
