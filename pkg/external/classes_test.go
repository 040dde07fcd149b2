package external

import (
	"context"
	stderrors "errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// classes is everything that the functions of classes.go find in an error.
type classes struct {
	After        time.Duration
	Throttled    bool
	Scope        string
	Delay        time.Duration
	Unauthorized bool
	Unavailable  bool
	NotFound     bool
	InProgress   bool
	Operation    Operation
}

func classify(err error) classes {
	c := classes{Unauthorized: IsUnauthorized(err), Unavailable: IsUnavailable(err), NotFound: IsNotFound(err)}
	c.After, _ = AsRetryAfter(err)
	c.Scope, c.Delay, c.Throttled = AsThrottled(err)
	c.Operation, c.InProgress = AsInProgress(err)

	return c
}

func TestClasses(t *testing.T) {
	const year = 365 * 24 * time.Hour
	resource := schema.GroupResource{Resource: "secrets"}
	long := strings.Repeat("s", 2*maxScope)

	cases := map[string]struct {
		reason string
		err    error
		want   classes
	}{
		"None":     {reason: "No error is of no class.", err: nil, want: classes{}},
		"Unmarked": {reason: "Nor is an unmarked error.", err: errBoom, want: classes{}},
		"Other": {
			reason: "Nor is one with other marks.", err: Terminal("TooBig", NotCreated(errBoom)),
			want: classes{},
		},
		"Kubernetes": {
			reason: "What an API server says may be about something else.",
			err: stderrors.Join(kerrors.NewNotFound(resource, "a"), kerrors.NewUnauthorized("b"),
				kerrors.NewTooManyRequests("c", 5), kerrors.NewServiceUnavailable("d")),
			want: classes{},
		},
		"RetryAfter": {
			reason: "A time is kept.", err: RetryAfter(time.Minute, errBoom),
			want: classes{After: time.Minute},
		},
		"RetryAfterZero": {reason: "No time is no mark.", err: RetryAfter(0, errBoom), want: classes{}},
		"RetryAfterPast": {
			reason: "Nor is a time that is past.", err: RetryAfter(-time.Second, errBoom),
			want: classes{},
		},
		"RetryAfterInstant": {
			reason: "Nobody tries again without a pause.", err: RetryAfter(1, errBoom),
			want: classes{After: MinRetryAfter},
		},
		"RetryAfterYear": {
			reason: "Nobody waits for a year.", err: RetryAfter(year, errBoom),
			want: classes{After: MaxRetryAfter},
		},
		"RetryAfterMost": {
			reason: "The longest time.", err: RetryAfter(math.MaxInt64, errBoom),
			want: classes{After: MaxRetryAfter},
		},
		"RetryAfterLeast": {
			reason: "The most negative time.", err: RetryAfter(math.MinInt64, errBoom),
			want: classes{},
		},
		"RetryAfterTwice": {
			reason: "Whoever marked last knew most.",
			err:    RetryAfter(time.Second, RetryAfter(time.Minute, errBoom)),
			want:   classes{After: time.Second},
		},
		"RetryAfterWrapped": {
			reason: "Found through other errors.",
			err:    errors.Wrap(RetryAfter(time.Minute, errBoom), "cannot x"),
			want:   classes{After: time.Minute},
		},
		"Throttled": {
			reason: "With all it says.", err: Throttled("reads", time.Minute, errBoom),
			want: classes{Throttled: true, Scope: "reads", Delay: time.Minute, After: time.Minute},
		},
		"ThrottledUntold": {
			reason: "A system need not say when.", err: Throttled("", 0, errBoom),
			want: classes{Throttled: true},
		},
		"ThrottledPast": {
			reason: "Or it says nonsense.", err: Throttled("", -year, errBoom),
			want: classes{Throttled: true},
		},
		"ThrottledYear": {
			reason: "Nobody waits for a year.", err: Throttled("", year, errBoom),
			want: classes{Throttled: true, Delay: MaxRetryAfter, After: MaxRetryAfter},
		},
		"ThrottledLong": {
			reason: "A scope is a short name.", err: Throttled(long, 0, errBoom),
			want: classes{Throttled: true, Scope: long[:maxScope]},
		},
		"ThrottledCut": {
			reason: "It is cut between letters.",
			err:    Throttled(long[:maxScope-1]+"ä", 0, errBoom),
			want:   classes{Throttled: true, Scope: long[:maxScope-1]},
		},
		"ThrottledAndLonger": {
			reason: "The longer time counts.",
			err:    Throttled("", time.Second, RetryAfter(time.Minute, errBoom)),
			want:   classes{Throttled: true, Delay: time.Second, After: time.Minute},
		},
		"LongerAndThrottled": {
			reason: "Whichever it is.",
			err:    RetryAfter(time.Second, Throttled("", time.Minute, errBoom)),
			want:   classes{Throttled: true, Delay: time.Minute, After: time.Minute},
		},
		"Unauthorized": {
			reason: "Found through other errors.",
			err:    errors.Wrap(Unauthorized(errBoom), "cannot x"), want: classes{Unauthorized: true},
		},
		"Unavailable": {
			reason: "Found through other errors.",
			err:    errors.Wrap(Unavailable(errBoom), "cannot x"), want: classes{Unavailable: true},
		},
		"NotFound": {
			reason: "Found through other errors.", err: errors.Wrap(NotFound(errBoom), "cannot x"),
			want: classes{NotFound: true},
		},
		"InProgress": {
			reason: "Found through other errors.",
			err:    errors.Wrap(InProgress("op-1", time.Minute), "cannot x"),
			want:   classes{InProgress: true, Operation: Operation{Handle: "op-1", After: time.Minute}},
		},
		"InProgressYear": {
			reason: "Nobody waits for a year.", err: InProgress("op-1", year),
			want: classes{InProgress: true, Operation: Operation{Handle: "op-1", After: MaxRetryAfter}},
		},
		"InProgressPast": {
			reason: "A time that is past says nothing.", err: InProgress("", -1),
			want: classes{InProgress: true},
		},
		"InProgressLongest": {
			reason: "The limit itself is allowed.",
			err:    InProgress(strings.Repeat("o", MaxHandle), 0),
			want:   classes{InProgress: true, Operation: Operation{Handle: strings.Repeat("o", MaxHandle)}},
		},
		"InProgressLong": {
			reason: "Half a handle is another one.",
			err:    InProgress(strings.Repeat("o", MaxHandle+1), 0), want: classes{InProgress: true},
		},
		"InProgressBytes": {
			reason: "What is no text cannot be stored.", err: InProgress("\xff", 0),
			want: classes{InProgress: true},
		},
		"All": {
			reason: "Marks do not exclude each other.",
			err: Unauthorized(Unavailable(NotFound(stderrors.Join(errBoom, Throttled("a", 0, errBoom),
				InProgress("b", 0))))),
			want: classes{
				Throttled: true, Scope: "a", Unauthorized: true, Unavailable: true, NotFound: true,
				InProgress: true, Operation: Operation{Handle: "b"},
			},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, classify(tc.err)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestClassesKeepTheError(t *testing.T) {
	cases := map[string]func(error) error{
		"RetryAfter":   func(err error) error { return RetryAfter(time.Second, err) },
		"Throttled":    func(err error) error { return Throttled("a", time.Second, err) },
		"Unauthorized": Unauthorized,
		"Unavailable":  Unavailable,
		"NotFound":     NotFound,
	}

	for name, mark := range cases {
		t.Run(name, func(t *testing.T) {
			if got := mark(nil); got != nil {
				t.Errorf("want nil for nil, got %v", got)
			}
			in := errors.Wrap(context.Canceled, "cannot reach it")
			got := mark(in)
			if diff := cmp.Diff(in.Error(), got.Error()); diff != "" {
				t.Errorf("the text changes\n-want, +got:\n%s", diff)
			}
			if !errors.Is(got, context.Canceled) {
				t.Error("what the marked error wraps is hidden")
			}
		})
	}
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Date(2026, 11, 20, 13, 0, 0, 0, time.UTC)

	cases := map[string]struct {
		reason string
		in     string
		want   time.Duration
	}{
		"Empty":    {reason: "No header says nothing.", in: "", want: 0},
		"Seconds":  {reason: "Seconds.", in: " 120 ", want: 2 * time.Minute},
		"Fraction": {reason: "Some send parts of a second.", in: "1.5", want: 1500 * time.Millisecond},
		"Tiny":     {reason: "There is a minimum.", in: "0.0001", want: MinRetryAfter},
		"Zero":     {reason: "Now is no time to wait.", in: "0", want: 0},
		"Negative": {reason: "Nor is the past.", in: "-5", want: 0},
		"Year":     {reason: "Nobody waits for a year.", in: "31536000", want: MaxRetryAfter},
		"Huge":     {reason: "Nor longer than can be counted.", in: "1e300", want: MaxRetryAfter},
		"Infinite": {reason: "Nor for ever.", in: "Inf", want: MaxRetryAfter},
		"NaN":      {reason: "Not a number.", in: "NaN", want: 0},
		"Date":     {reason: "A date.", in: "Fri, 20 Nov 2026 13:02:00 GMT", want: 2 * time.Minute},
		"Past":     {reason: "A date that is past.", in: "Fri, 20 Nov 2026 12:00:00 GMT", want: 0},
		"Words":    {reason: "Nonsense.", in: "later", want: 0},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, RetryAfterHeader(tc.in, now)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOperationHandle(t *testing.T) {
	if got := OperationHandle(t.Context()); got != "" {
		t.Errorf("want none without one, got %q", got)
	}
	if got := OperationHandle(WithOperationHandle(t.Context(), "op-1")); got != "op-1" {
		t.Errorf("want op-1, got %q", got)
	}
}
