package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

// A Fault is a failed request, in words for a user.
type Fault struct {
	sentence string
	cause    error
}

// Error returns one line.
func (f *Fault) Error() string { return f.sentence }

// Unwrap returns the error of the client.
func (f *Fault) Unwrap() error { return f.cause }

// Forbidden reports whether the user lacks a right.
func Forbidden(err error) bool { return apierrors.IsForbidden(err) }

// Conflict reports whether an object was changed or replaced since it was read.
func Conflict(err error) bool { return apierrors.IsConflict(err) }

// Missing reports whether an answer says that there is no object of the name. A 404 of a proxy, or for a kind that is
// not served, does not name the object and does not count.
func Missing(err error, name string) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Code != http.StatusNotFound {
		return false
	}

	details := answer.Status().Details

	unexpected := func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse }

	return details != nil && details.Name == name && !slices.ContainsFunc(details.Causes, unexpected)
}

// fault returns the sentence for the error of a request. What is the verb and its object, such as get stream "orders".
func (c *Cluster) fault(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}

	cause := err.Error()
	sentence := fmt.Sprintf("cannot %s: %s", what, cause)

	switch {
	case errors.Is(err, context.Canceled), errors.Is(ctx.Err(), context.Canceled):
		sentence = "interrupted"
	case Forbidden(err):
		sentence = fmt.Sprintf("you may not %s (Forbidden): %s", what, cause)
	case apierrors.IsUnauthorized(err):
		sentence = fmt.Sprintf("cannot %s: the API server %s does not accept the credentials of the kubeconfig "+
			"(Unauthorized)", what, host(c.server))
	case apierrors.IsConflict(err):
		sentence = fmt.Sprintf("cannot %s: it was changed or replaced meanwhile; run the command again", what)
	case unreachable(err):
		sentence = fmt.Sprintf("cannot reach the API server %s: %s", host(c.server), reason(err))
	}

	return &Fault{text.Line(sentence), err}
}

// unreachable reports whether a request got no answer of an API server.
func unreachable(err error) bool {
	var (
		status apierrors.APIStatus
		failed *url.Error
		net    net.Error
	)

	return !errors.As(err, &status) && (errors.As(err, &failed) || errors.As(err, &net) ||
		errors.Is(err, context.DeadlineExceeded))
}

// temporary reports whether a watch may be started again after this error.
func temporary(err error) bool {
	return unreachable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.ReasonForError(err) == "" && status(err) >= http.StatusInternalServerError
}

func status(err error) int32 {
	var s apierrors.APIStatus
	if errors.As(err, &s) {
		return s.Status().Code
	}

	return 0
}

// reason returns why a request got no answer, without the method and the URL of the request.
func reason(err error) string {
	var failed *url.Error
	if errors.As(err, &failed) {
		if failed.Timeout() {
			return "no answer in time (--request-timeout)"
		}

		return failed.Err.Error()
	}

	return err.Error()
}

// host returns the URL of a server without a password.
func host(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return server
	}

	return u.Redacted()
}
