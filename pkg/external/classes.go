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

// Bounds of what an external system may ask for.
const (
	// MinRetryAfter is the shortest time that an error may ask for. Whoever is asked
	// less would try again without a pause.
	MinRetryAfter = 100 * time.Millisecond
	// MaxRetryAfter is the longest time. Whoever is told to come back next year looks
	// again after this.
	MaxRetryAfter = time.Hour
	// MaxHandle is how many bytes the handle of an operation may have, because it is
	// stored with the object.
	MaxHandle = 1024
	// maxScope bounds the name of a quota, which labels a condition.
	maxScope = 64
)

// RetryAfter marks err as one that trying again overcomes after d, which then
// takes the place of the growing delay. It is kept within MinRetryAfter and
// MaxRetryAfter. A d of zero or less says nothing: err is returned as it is. The
// text stays that of err; nil stays nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil || d <= 0 {
		return err
	}

	return &retryAfter{after: bounded(d), err: err}
}

// AsRetryAfter returns the time after which to try again, and whether err or an
// error it wraps was marked with one, by RetryAfter or by Throttled. If by both,
// the longer one counts; of several marks of a kind, the outermost.
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

// Throttled marks err as the answer that too much was asked of the external
// system by all who share a quota: scope names the quota, at most 64 bytes of it,
// and is empty if it is that of the whole connection. d is after which time the
// system wants to be asked again, at most MaxRetryAfter; zero or less if it did
// not say. It is surely not the fault of this one object: whoever shares the
// quota slows down. The text stays that of err; nil stays nil.
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
// was marked by Throttled, and whether it was. The time is zero if the system did
// not say. The outermost mark wins.
func AsThrottled(err error) (scope string, after time.Duration, ok bool) {
	t, ok := find[*throttled](err)
	if !ok {
		return "", 0, false
	}

	return t.scope, t.after, true
}

// Unauthorized marks err as the answer that the credentials are not accepted, so
// that nothing can be done over this connection until they are others. It is not
// for credentials that are good but lack a permission for one thing. The text
// stays that of err; nil stays nil.
func Unauthorized(err error) error {
	if err == nil {
		return nil
	}

	return &unauthorized{err: err}
}

// IsUnauthorized reports whether err or an error it wraps was marked by
// Unauthorized. What a Kubernetes API server answers does not count by itself,
// because a client may have asked more than one.
func IsUnauthorized(err error) bool { return has[*unauthorized](err) }

// Unavailable marks err as one that says that the external system as a whole does
// not work at the moment: it cannot be reached, or says so. Trying with another
// object is of no use then. The text stays that of err; nil stays nil.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}

	return &unavailable{err: err}
}

// IsUnavailable reports whether err or an error it wraps was marked by
// Unavailable.
func IsUnavailable(err error) bool { return has[*unavailable](err) }

// NotFound marks err as the system's positive answer that the external resource
// does not exist, so that a client need not tell it apart from other errors on
// each way out. Mark only what was said of the resource itself: a finalizer may be
// removed because of it. Of an error of Create it does not say that nothing was created: see
// NotCreated. The text stays that of err; nil stays nil.
func NotFound(err error) error {
	if err == nil {
		return nil
	}

	return &notFound{err: err}
}

// IsNotFound reports whether err or an error it wraps was marked by NotFound. What
// a Kubernetes API server answers does not count by itself: it may be a Secret
// that was not found.
func IsNotFound(err error) bool { return has[*notFound](err) }

// An Operation is something that an external system has begun and not ended.
type Operation struct {
	// Handle is by what the system knows it. It is empty if there is none.
	Handle string
	// After is when to ask for it again. Zero leaves that to whoever asks.
	After time.Duration
}

// InProgress returns an error that says that what was asked for was accepted and
// goes on. No call that returns it has failed.
//
// The handle is by what the client can ask for the operation, which is stored
// with the object and given back by OperationHandle. It must not be secret. One of
// more than MaxHandle bytes, or that is no UTF-8, could not be stored and is
// dropped: it would be another one if it was cut. After is when to look again,
// kept within MinRetryAfter and MaxRetryAfter; zero or less leaves that to the
// reconciler.
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

// AsInProgress returns the operation of which err or an error it wraps says that
// it is in progress, and whether there is one. The outermost wins.
func AsInProgress(err error) (Operation, bool) {
	o, ok := find[*inProgress](err)
	if !ok {
		return Operation{}, false
	}

	return o.Operation, true
}

// WithOperationHandle returns a context that tells a client the handle of the
// operation that is in progress for its object. It is for reconcilers.
func WithOperationHandle(ctx context.Context, handle string) context.Context {
	return context.WithValue(ctx, handleKey{}, handle)
}

// OperationHandle returns the handle that the client gave to InProgress in an
// earlier call for the same object, or nothing if no operation is in progress.
func OperationHandle(ctx context.Context) string {
	handle, _ := ctx.Value(handleKey{}).(string)

	return handle
}

type handleKey struct{}

// RetryAfterHeader returns the time that a Retry-After header of HTTP asks for, in
// seconds or as a date (RFC 9110, 10.2.3), for RetryAfter and Throttled. It is
// zero if the header is empty or malformed, or if the date is past. Now is the
// time by which a date is read.
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

// bounded keeps a time within the bounds; what is not positive becomes zero.
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
