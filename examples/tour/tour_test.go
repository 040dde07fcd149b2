package tour

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// normalized returns the output with durations replaced by T, because they differ from run to run.
func normalized(out *bytes.Buffer) string {
	return regexp.MustCompile(`\d+\.\d+ s\b`).ReplaceAllString(out.String(), "T s")
}

func sees(text string) func(context.Context, *Report) error {
	return func(_ context.Context, r *Report) error {
		r.See("%s", text)

		return nil
	}
}

func patience(d time.Duration) func(string) time.Duration {
	return func(string) time.Duration { return d }
}

func TestForm(t *testing.T) {
	var out bytes.Buffer
	tour := &Tour{Out: &out, Load: func() string { return "load 9 on 2" }, Steps: []Step{
		{Claim: "The first is so.", Within: time.Hour, Show: sees("one: 1\ntwo: 2\n")},
		{Claim: "The second is so.", Within: time.Nanosecond, Show: func(_ context.Context, r *Report) error {
			r.See("three: %d", 3)
			r.Took("The start", 3700*time.Millisecond, time.Second)
			r.Took("The rest", time.Second, time.Minute)

			return nil
		}},
	}}
	if err := tour.Run(t.Context()); err != nil {
		t.Errorf("a missed time bound is an error: %v", err)
	}
	want := `
 1/2  The first is so.
       one: 1
       two: 2
       It took T s.

 2/2  The second is so.
       three: 3
       The start took T s.
       WARNING: more than T s. The machine: load 9 on 2.
       The rest took T s.
       It took T s.
       WARNING: more than T s. The machine: load 9 on 2.

All 2 steps held, in T s. 2 time bounds were exceeded: see the warnings above.
`
	if diff := cmp.Diff(want, normalized(&out)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMissedState: the error has the wanted and the observed state, and no step follows.
func TestMissedState(t *testing.T) {
	blue := errors.New("it is blue")
	var out bytes.Buffer
	tour := &Tour{Out: &out, Patience: patience(time.Nanosecond), Steps: []Step{
		{Name: "colour", Claim: "It is red.", Show: func(ctx context.Context, r *Report) error {
			r.See("it is painted")

			return r.Until(ctx, "that it is red", func(context.Context) error { return blue })
		}},
		{Claim: "This is not shown.", Show: sees("nothing")},
	}}
	err := tour.Run(t.Context())
	var missed *Missed
	if !errors.As(err, &missed) || missed.Want != "that it is red" || !errors.Is(err, blue) {
		t.Fatalf("got %v, want a *Missed with what was wanted and seen", err)
	}
	if want := "step 1 (colour) did not hold: want that it is red, saw: it is blue"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	want := "\n 1/2  It is red.\n       it is painted\n       DID NOT HOLD: want that it is red, saw: it is blue\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNothingIsClaimedWithoutEvidence(t *testing.T) {
	tour := &Tour{Out: io.Discard,
		Steps: []Step{{Claim: "All is well.", Show: func(context.Context, *Report) error { return nil }}}}
	if err := tour.Run(t.Context()); !errors.Is(err, errNoEvidence) {
		t.Errorf("got %v, want %v", err, errNoEvidence)
	}
}

// TestUntil: the error is that of the last check, not that of the ended context.
func TestUntil(t *testing.T) {
	looks, reason := 0, errors.New("not yet")
	r := &Report{tour: &Tour{Out: io.Discard}}
	err := r.Until(t.Context(), "the third look", func(context.Context) error {
		if looks++; looks < 3 {
			return reason
		}

		return nil
	})
	if err != nil || looks != 3 {
		t.Errorf("got %v after %d looks", err, looks)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = r.Until(ctx, "nothing", func(ctx context.Context) error {
		if looks++; looks == 5 {
			cancel()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}

		return reason
	})
	if !errors.Is(err, reason) {
		t.Errorf("got %v, want %v", err, reason)
	}
}

func TestBeforeIsCalled(t *testing.T) {
	var calls []int
	tour := &Tour{Out: io.Discard, Before: func(i int) { calls = append(calls, i) },
		Steps: []Step{{Show: sees("a")}, {Show: sees("b")}}}
	if err := tour.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1}, calls); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	for text, want := range map[string]string{
		"9.41 4.02 2.11 3/512 12345\n": "load average over 1 minute 9.41, number of processors 2",
		"":                             "load average over 1 minute unknown, number of processors 2",
	} {
		if got := describe(text, 2); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Load(); !strings.Contains(got, "number of processors") {
		t.Errorf("got %q", got)
	}
}

func TestGuide(t *testing.T) {
	broken := errors.New("broken")
	stop := func(cancel func()) Step {
		return Step{Show: func(ctx context.Context, _ *Report) error {
			cancel()

			return ctx.Err()
		}}
	}
	cases := map[string]struct {
		reason string
		step   func(cancel func()) Step
		start  func(cancel func()) error
		once   bool
		ended  bool
		want   error
		says   string
		stays  bool // until ctx ends
	}{
		"Once": {reason: "It ends by itself.", once: true, says: "It ends here (ONCE=1)"},
		"Stays": {reason: "It says how to look around, and ends when ctx ends.", stays: true,
			says: "  kubectl get pods\n\nCtrl-C ends it"},
		"EndedItself": {reason: "There is nothing left to look at.", ended: true, want: errEnded},
		"Broken": {reason: "A state that is missed ends it, also without once.", want: broken, step: func(func()) Step {
			return Step{Show: func(context.Context, *Report) error { return broken }}
		}},
		"StoppedOnce": {reason: "A script must not take that for success.", once: true, step: stop, want: errStopped},
		"Stopped":     {reason: "A person has seen enough.", step: stop, says: "Stopping."},
		"NotStarted":  {reason: "There is nothing to show.", start: func(func()) error { return broken }, want: broken},
		"StoppedStart": {reason: "A person does not want to wait for the start.", says: "Stopping.",
			start: func(cancel func()) error {
				cancel()

				return broken
			}},
		"StoppedStartOnce": {reason: "A script must not take that for success.", once: true, want: errStopped,
			start: func(cancel func()) error {
				cancel()

				return broken
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out bytes.Buffer
			step := Step{Show: sees("it")}
			if tc.step != nil {
				step = tc.step(cancel)
			}
			ended := make(chan struct{})
			if tc.ended {
				close(ended)
			}
			g := &Guide{
				Out: &out, Once: tc.once,
				Start: func(context.Context) (*Tour, error) {
					if tc.start != nil {
						return nil, tc.start(cancel)
					}

					return &Tour{Out: &out, Steps: []Step{step}}, nil
				},
				Commands: func() []string { return []string{"export KUBECONFIG=x", "kubectl get pods"} },
				Ended: func() <-chan struct{} {
					if tc.stays {
						cancel() // the user ends it
					}

					return ended
				},
			}
			if err := g.Run(ctx); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
				t.Errorf("%s: got %v, want %v", tc.reason, err, tc.want)
			}
			if !strings.Contains(out.String(), tc.says) {
				t.Errorf("%s: it does not say %q:\n%s", tc.reason, tc.says, &out)
			}
			if looks := strings.Contains(out.String(), "To look around"); looks != (tc.stays || tc.ended) {
				t.Errorf("%s: it says how to look around: %t", tc.reason, looks)
			}
		})
	}
}

// TestStoppedWhileItEnds: Ctrl-C also ends the started processes, which may be faster than the demo.
func TestStoppedWhileItEnds(t *testing.T) {
	for range 20 { // which of the two is seen first is left to chance
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		close(ended)
		g := &Guide{
			Out:      io.Discard,
			Start:    func(context.Context) (*Tour, error) { return &Tour{Out: io.Discard}, nil },
			Commands: func() []string { return nil },
			Ended: func() <-chan struct{} {
				cancel()

				return ended
			},
		}
		if err := g.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func Example() {
	state := "red"
	tour := &Tour{Out: exampleOut{}, Steps: []Step{{
		Claim: "A light turns green.",
		Show: func(ctx context.Context, r *Report) error {
			state = "green"
			err := r.Until(ctx, "a green light", func(context.Context) error {
				if state != "green" {
					return fmt.Errorf("it is %s", state)
				}

				return nil
			})
			r.See("light: %s", state)

			return err
		},
	}}}
	fmt.Println(tour.Run(context.Background()))
	// Output:
	//
	//  1/1  A light turns green.
	//        light: green
	//        It took T s.
	//
	// All 1 steps held, in T s.
	// <nil>
}

// exampleOut prints times as T.
type exampleOut struct{}

func (exampleOut) Write(p []byte) (int, error) {
	fmt.Print(normalized(bytes.NewBuffer(p)))

	return len(p), nil
}
