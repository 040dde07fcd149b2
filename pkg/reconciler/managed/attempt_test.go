package managed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

const (
	early = "2026-01-01T00:00:00Z"
	later = "2026-01-01T00:00:01Z"
)

func marked(pending, succeeded, failed, attempt string) *fake.Managed {
	return testworld.Marked(pending, succeeded, failed, attempt)
}

// TestSurelyFailed is what an error of Create is taken for: by default and strictly, where a result that is not
// known waits for a person, and in the classes in which it does not.
func TestSurelyFailed(t *testing.T) {
	cases := map[string]struct {
		err                    error
		opaque, strict, others bool
	}{
		"Plain":           {errors.New("bad request"), true, false, false},
		"AlreadyExists":   {external.AlreadyExists(errors.New("taken")), true, true, true},
		"NotCreated":      {external.NotCreated(context.DeadlineExceeded), true, true, true},
		"MaybeCreated":    {external.MaybeCreated(status(http.StatusBadRequest)), false, false, false},
		"MaybeNotCreated": {external.MaybeCreated(external.NotCreated(errors.New("boom"))), false, false, false},
		"NotCreatedBeside": {fmt.Errorf("%w, %w", external.NotCreated(errors.New("boom")), errors.New("boom")), true,
			false, true},
		"NotCreatedAndEOF": {fmt.Errorf("%w, %w", external.NotCreated(errors.New("boom")), io.EOF), false, false,
			false},
		"Invalid": {kerrors.NewInvalid(schema.GroupKind{}, "x", nil), true, true, false},
		"Forbidden": {fmt.Errorf("post: %w", kerrors.NewForbidden(schema.GroupResource{}, "x", nil)), true,
			true, false},
		"Throttled":   {status(http.StatusTooManyRequests), true, true, false},
		"ServerError": {status(http.StatusBadGateway), false, false, false},
		"Conflict": {kerrors.NewConflict(schema.GroupResource{}, "x", errors.New("changed")), false, false,
			false},
		"Exists":           {kerrors.NewAlreadyExists(schema.GroupResource{}, "x"), false, false, false},
		"StatusField":      {&krateoError{StatusCode: http.StatusUnprocessableEntity}, true, true, false},
		"StatusFieldOf500": {&krateoError{StatusCode: http.StatusInternalServerError}, false, false, false},
		"Response": {fmt.Errorf("post: %w",
			&githubError{Response: &http.Response{StatusCode: http.StatusNotFound}}), true, true, false},
		"ResponseOf502": {&githubError{Response: &http.Response{StatusCode: http.StatusBadGateway}}, false, false,
			false},
		"NoResponse":    {&githubError{}, true, false, false},
		"Code":          {codeError{Code: http.StatusForbidden}, true, false, false},
		"CodeOf500":     {codeError{Code: http.StatusInternalServerError}, false, false, false},
		"Deadline":      {fmt.Errorf("post: %w", context.DeadlineExceeded), false, false, false},
		"Cancelled":     {fmt.Errorf("post: %w", context.Canceled), false, false, false},
		"EOF":           {fmt.Errorf("post: %w", io.EOF), false, false, false},
		"UnexpectedEOF": {io.ErrUnexpectedEOF, false, false, false},
		"Reset": {&net.OpError{
			Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET),
		}, false, false, false},
		"BrokenPipe":     {&net.OpError{Op: "write", Err: syscall.EPIPE}, false, false, false},
		"Closed":         {&net.OpError{Op: "read", Err: net.ErrClosed}, false, false, false},
		"ReadTimeout":    {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false, false, false},
		"OtherTimeout":   {http.ErrHandlerTimeout, true, false, false},
		"TimeoutOfOther": {tardy{}, false, false, false},
		"Dial":           {&net.OpError{Op: "dial", Err: errors.New("connection refused")}, true, true, false},
		"Panic":          {&panics.Error{Value: external.NotCreated(errors.New("boom"))}, false, false, false},
		"NotBegun": {external.NotCreated(fmt.Errorf("%w: %w", errFenced, &panics.Error{Value: "boom"})),
			true, true, true},
	}
	for name, tc := range cases {
		for class, want := range map[lifecycle.CreateClass][2]bool{
			lifecycle.Opaque: {tc.opaque, tc.strict}, lifecycle.Token: {tc.others, tc.others},
			lifecycle.Findable: {tc.others, tc.others},
		} {
			got := [2]bool{(&Reconciler{}).provesNotCreated(class, tc.err),
				optioned(WithStrictCreateErrors()).provesNotCreated(class, tc.err)}
			if got != want {
				t.Errorf("%s of class %v, by default and strict: %t, want %t", name, class, got, want)
			}
		}
	}
}

// TestOverran verifies that after its context has ended only an error that the client marks determines the result
// of a Create.
func TestOverran(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		late bool
		err  error
		want external.Effect
	}{
		"no error":            {true, nil, external.EffectUnknown},
		"in time":             {false, errors.New("boom"), external.EffectUnknown},
		"late":                {true, errors.New("boom"), external.EffectPossible},
		"late, and refused":   {true, status(http.StatusBadRequest), external.EffectPossible},
		"late, and marked":    {true, external.NotCreated(errors.New("boom")), external.EffectNone},
		"late, and was taken": {true, external.AlreadyExists(errors.New("boom")), external.EffectNone},
	} {
		ctx := t.Context()
		if tc.late {
			ctx = ended
		}
		err := afterDeadline(ctx, tc.err)
		if got := external.EffectOf(err); got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v tells %d, want %d", name, err, got, tc.want)
		}
	}
}

// Errors as the clients of krateo's providers, of GitHub and of Google return them.
type (
	krateoError struct{ StatusCode int }
	githubError struct{ Response *http.Response }
	codeError   struct{ Code int }
)

func (*krateoError) Error() string { return "boom" }
func (*githubError) Error() string { return "boom" }
func (codeError) Error() string    { return "boom" }

// A status is an error of a client of HTTP.
type status int

func (s status) Error() string   { return http.StatusText(int(s)) }
func (s status) StatusCode() int { return int(s) }

type tardy struct{}

func (tardy) Error() string   { return "i/o timeout" }
func (tardy) Timeout() bool   { return true }
func (tardy) Temporary() bool { return true }

func TestAnotherUID(t *testing.T) {
	volumes, kind := schema.GroupResource{Resource: "volumes"}, schema.GroupKind{Kind: "Volume"}
	foreignUID := kerrors.NewInvalid(kind, "a", nil)
	foreignUID.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "metadata.uid"}}
	otherwise := kerrors.NewInvalid(kind, "a", nil)
	otherwise.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "metadata.annotations"}}
	cases := map[string]struct {
		err  error
		want bool
	}{
		"None":       {nil, false},
		"NotFound":   {kerrors.NewNotFound(volumes, "a"), false},
		"ForeignUID": {foreignUID, true},
		"Invalid":    {otherwise, false},
		"Conflict":   {kerrors.NewConflict(volumes, "a", errors.New("x")), false},
		"Plain":      {errors.New("metadata.uid"), false},
	}
	for name, tc := range cases {
		if got := anotherUID(tc.err); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
