package controller_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// TestWentBack checks the comparison of versions.
func TestWentBack(t *testing.T) {
	for name, tc := range map[string]struct {
		known, answered string
		want            bool
		reason          string
	}{
		"Grew":        {"219", "874", false, "it was written since"},
		"Same":        {"874", "874", false, "it was not written since"},
		"WentBack":    {"874", "219", true, "what was written since is gone"},
		"FewerDigits": {"1000", "999", true, "versions are numbers, not texts"},
		"MoreDigits":  {"999", "1000", false, "versions are numbers, not texts"},
		"BeyondIntegers": {"99999999999999999999999", "99999999999999999999998", true,
			"a version may have any number of digits"},
		"NothingKnown": {"", "219", false, "a process that has just begun has seen none"},
		"NoAnswer":     {"874", "", false, "what is no version says nothing"},
		"Zero":         {"874", "0", false, "zero is what any version is asked for with"},
		"OtherServer":  {"rev-9", "rev-1", false, "a server may count as it likes"},
		"OtherKnown":   {"rev-9", "1", false, "a server may count as it likes"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := controller.WentBack(tc.known, tc.answered); got != tc.want {
				t.Errorf("from %q to %q: %t, want %t: %s", tc.known, tc.answered, got, tc.want, tc.reason)
			}
		})
	}
}

var widget = schema.GroupKind{Group: "example.org", Kind: "Widget"}

// TestRestoreDetectorReportsOnce: a restore is logged, counted and ends the process once,
// however many lower versions follow.
func TestRestoreDetectorReportsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged []string
		log := funcr.New(func(_, text string) { logged = append(logged, text) }, funcr.Options{})
		d, before := controller.NewRestoreDetector(controller.WithRestoreLogger(logging.NewLogrLogger(log))), counted(t)
		ended := make(chan error, 1)
		go func() { ended <- d.Start(t.Context()) }()

		for _, answered := range []string{"874", "875", "rev-1"} {
			if d.Seen(widget, "874", answered) {
				t.Errorf("%s was taken for a restore", answered)
			}
		}
		synctest.Wait()
		if err := d.Restored(); err != nil || len(ended) > 0 || len(logged) > 0 {
			t.Fatalf("without a restore: %v, %q", err, logged)
		}

		for _, known := range []string{"874", "900"} {
			if !d.Seen(widget, known, "219") {
				t.Errorf("after %s, 219 was not taken for a restore", known)
			}
		}
		err := <-ended
		if !errors.Is(err, controller.ErrRestored) || !errors.Is(d.Restored(), controller.ErrRestored) {
			t.Errorf("the process ends with %v, and %v is known", err, d.Restored())
		}
		for _, part := range []string{"Widget.example.org", "874", "219", "start this process anew"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		if len(logged) != 1 || !strings.Contains(logged[0],
			`"kind"="Widget.example.org" "knownVersion"="874" "answeredVersion"="219"`) ||
			!strings.Contains(logged[0], `"error"=`) {
			t.Errorf("logged: %q", logged)
		}
		if n := counted(t) - before; n != 1 {
			t.Errorf("%v restores are counted", n)
		}
		// A later Start returns the error, too.
		if err := d.Start(t.Context()); !errors.Is(err, controller.ErrRestored) {
			t.Errorf("a later Start returns %v", err)
		}
	})
}

// TestRestoreDetectorContextEnds: Start returns nil when its context ends.
func TestRestoreDetectorContextEnds(t *testing.T) {
	d := controller.NewRestoreDetector()
	if d.NeedLeaderElection() {
		t.Error("the detector does not run without the lease")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Start(ctx); err != nil {
		t.Error(err)
	}
}

// TestBeforeEnd: the registered functions are called once, concurrently, and before Start
// returns, even if the context ends at the same time.
func TestBeforeEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, began := controller.NewRestoreDetector(), time.Now()
		var done, ended atomic.Int32
		for range 2 {
			d.BeforeEnd(func(ctx context.Context) {
				<-ctx.Done()
				if n := ended.Load(); n != 0 {
					t.Errorf("%d have ended before", n)
				}
				done.Add(1)
			})
		}
		forget := d.BeforeEnd(func(context.Context) { t.Error("a function that was removed is called") })
		forget()
		ctx, cancel := context.WithCancel(t.Context())
		for range 2 {
			go func() {
				if err := d.Start(ctx); !errors.Is(err, controller.ErrRestored) {
					t.Errorf("it ends with %v", err)
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		if done.Load() != 0 {
			t.Error("there was no restore")
		}
		d.Seen(widget, "874", "219")
		cancel()
		if err := d.Start(ctx); !errors.Is(err, controller.ErrRestored) {
			t.Errorf("Start with an ended context returns %v", err)
		}
		synctest.Wait()
		if n, took := done.Load(), time.Since(began); n != 2 || ended.Load() != 2 || took > 30*time.Second {
			t.Errorf("%d were called, and %d ended, after %s", n, ended.Load(), took)
		}
	})
}

// Each cluster has its own detector.
func ExampleRestoreDetector_Seen() {
	d := controller.NewRestoreDetector()
	known := "874" // as a cache, or the last write, has it, before the API server is asked
	fmt.Println(d.Seen(schema.GroupKind{Group: "example.org", Kind: "Widget"}, known, "219"))
	fmt.Println(errors.Is(d.Restored(), controller.ErrRestored))
	// Output:
	// true
	// true
}

// counted returns the number of restores that the process has counted.
func counted(t *testing.T) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "moorage_apiserver_restores_total" {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatal("no metric")

	return 0
}
