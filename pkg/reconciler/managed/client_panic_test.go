package managed_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAClientThatPanics verifies that a panic in any client call is reported on its object, which is retried; other
// objects are not affected. After a panic in Create its result is unknown.
func TestAClientThatPanics(t *testing.T) {
	for _, before := range []bool{true, false} {
		for _, call := range []string{"Connect", "Observe", "Create", "Update", "Delete"} {
			if call == "Connect" && !before {
				continue // it has no effect
			}
			w := newWorld(t)
			panics := func(_ context.Context, c string, mg resource.Managed) error {
				if c == call {
					if c == "Create" {
						meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)
					}
					panic("index out of range of " + c)
				}

				return nil
			}
			arrange := func(hook func(context.Context, string, resource.Managed) error) {
				if before {
					w.cloud.Before = hook
				} else {
					w.cloud.After = hook
				}
			}
			if call == "Update" || call == "Delete" {
				w.create(nil)
				w.pass()
			}
			arrange(panics)
			switch call {
			case "Update":
				w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
			case "Delete":
				w.delete()
			default:
				w.create(nil)
			}
			if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "panic: index out of range") {
				t.Errorf("%s, before its effect %t: the pass answered %v", call, before, err)
			}
			if c := w.condition(commonv1.TypeSynced, "False/ClientPanicked"); !strings.Contains(c.Message,
				"panic: index out of range of "+call) {
				t.Errorf("%s: the condition says %q", call, c.Message)
			}
			arrange(nil)
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			_, _ = w.try()
			if n := w.cloud.Count("Create"); n != 1 {
				t.Errorf("%s, before its effect %t: %d creations", call, before, n)
			}
		}
	}
}

// TestAFunctionThatPanics verifies that nothing is changed while a fence or lease function panics, that the object
// reports the panic, and that no unresolved creation is left.
func TestAFunctionThatPanics(t *testing.T) {
	changes := map[string]string{
		"Create": "CannotCreateExternalResource", "Update": "CannotUpdateExternalResource",
		"Delete": "CannotDeleteExternalResource",
	}
	for name, reasons := range map[string]map[string]string{
		"fence": changes, "lease deadline": changes, "add finalizer": {"Create": "CannotUpdateManagedResource"},
	} {
		for change, reason := range reasons {
			for from := range 4 { // so many questions are answered before
				t.Run(fmt.Sprintf("%s/%s/%d", name, change, from), func(t *testing.T) {
					answers := math.MaxInt
					w := newWorld(t, managed.WithCreationGracePeriod(0), functions(func() {
						if answers--; answers < 0 {
							panic("a defect of the " + name)
						}
					})[name])
					w.create(nil)
					if change != "Create" {
						w.pass()
					}
					switch change {
					case "Update":
						w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
					case "Delete":
						w.delete()
					}
					w.taken()
					answers = from
					err := panics.Call(func() error { _, err := w.try(); return err }) // as a controller does
					_, calls, events := w.taken()
					if called := strings.Contains(calls, change); called == strings.Contains(events, reason) {
						t.Errorf("called %t, told %q", called, events)
					} else if !called {
						w.panicked(err, "a defect of the "+name)
					} else if from == 0 {
						t.Error("the first question was not answered, and the change was made")
					}
					answers = math.MaxInt
					for range 3 {
						w.clock.SetTime(w.clock.Now().Add(time.Minute))
						_, _ = w.try()
					}
					if v := w.get; change == "Delete" {
						if !w.gone() || len(w.cloud.Disks()) != 0 {
							t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
						}
					} else if c := v().GetCondition(commonv1.TypeSynced); c.Status != "True" ||
						len(w.cloud.Disks()) != 1 || w.cloud.Disks()[0].SizeGiB != v().Spec.SizeGiB {
						t.Errorf("afterwards the object says %+v, disks %v", c, w.cloud.Disks())
					}
				})
			}
		}
	}
}

// panicked checks that a pass has ended in a panic, and that the object says so.
func (w *world) panicked(err error, text string) {
	w.Helper()
	if err == nil || !strings.Contains(err.Error(), "panic: "+text) {
		w.Errorf("the pass answered %v", err)
	}
	if c := w.condition(commonv1.TypeSynced, "False/ClientPanicked"); !strings.Contains(c.Message, "panic: "+text) {
		w.Errorf("the condition says %q", c.Message)
	}
}

// TestAFunctionThatMayPanic verifies that an object is polled by default if the event source or the poll interval
// hook panics, and that the panic is reported once.
func TestAFunctionThatMayPanic(t *testing.T) {
	for name, count := range map[string]int{"subscribe": 0, "poll interval hook": 2} {
		broken := true
		w := newWorld(t, functions(func() {
			if broken {
				panic("a defect")
			}
		})[name])
		w.listens()
		w.create(nil)
		text := ""
		for i := range 9 {
			broken = name == "subscribe" || i != 5 && i != 6
			if result := w.pass(); i > 1 && result.RequeueAfter != time.Minute {
				t.Errorf("%s: the next pass is after %s", name, result.RequeueAfter)
			}
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			_, _, events := w.taken()
			text += events + "\n"
		}
		w.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
		if n := strings.Count(text, "Warning/InvalidPollInterval"); n != count ||
			strings.Count(text, "Warning") != count {
			t.Errorf("%s: told %d times, want %d: %s", name, n, count, text)
		}
	}
}

// TestAPanicIsLogged verifies that a panic of a client is logged with the call and its stack, without secrets.
func TestAPanicIsLogged(t *testing.T) {
	var lines []string
	w := newWorld(t, managed.WithLogger(logging.NewLogrLogger(funcr.New(func(_, line string) {
		lines = append(lines,
			line)
	}, funcr.Options{}))))
	w.cloud.Before = func(ctx context.Context, call string, _ resource.Managed) error {
		if call == "Observe" {
			redact.Conceal(ctx, []byte("correct-horse"))
			panic("index out of range of correct-horse")
		}

		return nil
	}
	w.create(nil)
	_, _ = w.try()
	logged := strings.Join(slices.DeleteFunc(lines,
		func(line string) bool { return !strings.Contains(line, "A client panicked") }), "\n")
	for _, part := range []string{`"step"="observe"`, "index out of range of ", `"stack"=`, "TestAPanicIsLogged"} {
		if !strings.Contains(logged, part) {
			t.Errorf("%s is not in %q", part, lines)
		}
	}
	if strings.Contains(logged, "correct-horse") {
		t.Errorf("the log tells the secret: %q", logged)
	}
}
