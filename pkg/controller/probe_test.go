package controller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestRestoreProbe: the probe requests the version of the API server at the start, and once
// per interval.
func TestRestoreProbe(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []string // "" is an error
		want    bool
		reason  string
	}{
		"Grows":         {[]string{"219", "219", "874"}, false, "versions grow, or stay"},
		"WentBack":      {[]string{"219", "874", "500"}, true, "what was written is gone"},
		"Outage":        {[]string{"874", "", "875"}, false, "an error is no version"},
		"WentBackInIt":  {[]string{"874", "", "219"}, true, "what was known before an outage is still known"},
		"OutageAtFirst": {[]string{"", "219", "874"}, false, "nothing was known"},
		"NotComparable": {[]string{"rev-9", "rev-1", "rev-1"}, false, "such versions say nothing"},
		"NotComparableOnce": {[]string{"874", "rev-1", "219"}, true,
			"what cannot be compared does not take the place of what can"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lists, d := &lists{answers: tc.answers}, controller.NewRestoreDetector()
				p := controller.NewRestoreProbe(d, lists, widget.WithVersion("v1"), controller.WithProbeNamespace("ns"))
				if p.NeedLeaderElection() {
					t.Error("the probe does not run without the lease")
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				began := time.Now()
				go func() { ended <- p.Start(ctx) }()
				<-time.After(2*controller.ProbeInterval + controller.ProbeInterval/2)
				synctest.Wait()
				if got := d.Restored() != nil; got != tc.want {
					t.Errorf("restored: %t (%v), want %t: %s", got, d.Restored(), tc.want, tc.reason)
				}
				want := []time.Duration{0, controller.ProbeInterval, 2 * controller.ProbeInterval}
				if diff := cmp.Diff(want, lists.after(began)); diff != "" {
					t.Errorf("requests (-want, +got):\n%s", diff)
				}
				if want := (client.ListOptions{Limit: 1, Namespace: "ns"}); lists.options.Limit != want.Limit ||
					lists.options.Namespace != want.Namespace || lists.kind != "WidgetList" {
					t.Errorf("asked for %s with %+v", lists.kind, lists.options)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRestoreProbeTimesOut: a request that gets no response does not prevent the next one.
func TestRestoreProbeTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists, d := &lists{answers: []string{"874", "hangs", "219"}}, controller.NewRestoreDetector()
		p := controller.NewRestoreProbe(d, lists, widget.WithVersion("v1"),
			controller.WithProbeInterval(10*time.Second))
		go func() {
			if err := p.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Start(ctx); !errors.Is(err, controller.ErrRestored) {
			t.Errorf("got %v", err)
		}
	})
}

// lists has the versions of the responses, in order. The last one is repeated.
type lists struct {
	client.Reader

	answers []string
	asked   []time.Time
	kind    string
	options client.ListOptions
}

func (l *lists) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	answer := l.answers[min(len(l.asked), len(l.answers)-1)]
	l.asked = append(l.asked, time.Now())
	l.kind, l.options = list.GetObjectKind().GroupVersionKind().Kind, client.ListOptions{}
	l.options.ApplyOptions(o)
	switch answer {
	case "":
		return errors.New("no answer")
	case "hangs":
		<-ctx.Done()

		return ctx.Err()
	}
	list.(*metav1.PartialObjectMetadataList).SetResourceVersion(answer)

	return nil
}

func (l *lists) after(began time.Time) []time.Duration {
	var out []time.Duration
	for _, at := range l.asked {
		out = append(out, at.Sub(began))
	}

	return out
}
