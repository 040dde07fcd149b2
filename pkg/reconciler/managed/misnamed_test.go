package managed_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The classes whose names the external system assigns.
var assigned = map[string]struct {
	options []managed.ReconcilerOption
	tokens  bool
	window  time.Duration
}{
	"opaque":   {},
	"token":    {options: []managed.ReconcilerOption{managed.WithCreationTokens()}, tokens: true},
	"findable": {window: time.Second},
}

// Ways in which admission changes the value of an external name.
var renames = map[string]func(client.Object){
	"a prefix": func(o client.Object) {
		if name := meta.GetExternalName(o); name != "" && !strings.HasPrefix(name, "x-") {
			meta.SetExternalName(o, "x-"+name)
		}
	},
	"upper case": func(o client.Object) {
		if name := meta.GetExternalName(o); name != "" {
			meta.SetExternalName(o, strings.ToUpper(name))
		}
	},
	"one name for all": func(o client.Object) { meta.SetExternalName(o, "forced") },
}

// later makes passes, each when it is due or a minute after one that failed, until the object is gone.
func (w *world) later(passes int) {
	w.Helper()
	for range passes {
		if w.gone() {
			return
		}
		result, _ := w.try()
		w.clock.SetTime(w.clock.Now().Add(max(result.RequeueAfter, time.Minute)))
	}
}

// TestAnotherNameThanTheOneSentIsNotActedOn verifies that a resource whose external name admission alters is
// neither created again nor deleted by the altered name, also by another process. The object reports both names,
// and recovers once its name is stored.
func TestAnotherNameThanTheOneSentIsNotActedOn(t *testing.T) {
	for class, tc := range assigned {
		for how, rename := range renames {
			for _, restarts := range []bool{false, true} {
				t.Run(class+"/"+how+map[bool]string{true: "/the process ends"}[restarts], func(t *testing.T) {
					w := newWorld(t, tc.options...)
					w.cloud.Tokens, w.cloud.Window = tc.tokens, tc.window
					w.admit = rename
					w.create(nil)
					_, _ = w.try()
					stored := strings.NewReplacer("vol-1", "x-vol-1")
					if how != "a prefix" {
						stored = strings.NewReplacer("vol-1",
							map[string]string{"upper case": "VOL-1", "one name for all": "forced"}[how])
					}
					if c := w.condition(commonv1.TypeSynced, "False/MarksNotStored"); !strings.Contains(c.Message,
						`"`+stored.Replace("vol-1")+`" is stored instead of "vol-1"`) {
						t.Errorf("the names are not told: %s", c.Message)
					}
					w.later(3)
					if restarts {
						w.restart()
						w.later(3)
					}
					w.delete()
					w.later(5)
					if calls := w.cloud.Calls(); w.gone() || len(w.cloud.Disks()) != 1 ||
						slices.Contains(calls, "Delete") {
						t.Fatalf("gone %t, disks %v, calls %v", w.gone(), w.cloud.Disks(), calls)
					}
					w.admit = nil
					w.later(10)
					blocked := restarts && class == "opaque" // its name is unknown
					if left := len(w.cloud.Disks()) > 0; w.gone() == blocked || left != blocked {
						t.Errorf("once it is stored: gone %t, disks %v, annotations %v", w.gone(), w.cloud.Disks(),
							w.get().Annotations)
					}
					if blocked {
						w.condition(commonv1.TypeSynced, "False/CreationUnresolved")
					}
				})
			}
		}
	}
}

// TestANameThatCannotBeStoredIsKeptInMemory verifies that a name that is no UTF-8, or too long for an annotation,
// is kept in memory.
func TestANameThatCannotBeStoredIsKeptInMemory(t *testing.T) {
	long := strings.Repeat("long", 70<<10)
	for class, tc := range assigned {
		for prefix, message := range map[string]string{
			"\xff": `"\xffvol-1"`, "half \xe2\x82": `"half \xe2\x82vol-1"`, long: strings.Repeat("long", 32) + `"`,
		} {
			t.Run(class+"/"+message[:5], func(t *testing.T) {
				w := newWorld(t, tc.options...)
				w.cloud.Tokens, w.cloud.Window = tc.tokens, tc.window
				w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
					if d := w.cloud.Disks(); call == "Create" && len(d) == 1 && !strings.HasPrefix(d[0].ID, prefix) {
						w.cloud.Remove(d[0].ID)
						d[0].ID = prefix + d[0].ID
						w.cloud.Put(d[0])
						meta.SetExternalName(mg, d[0].ID)
					}

					return nil
				}
				w.create(nil)
				_, _ = w.try()
				if c := w.condition(commonv1.TypeSynced,
					"False/MarksNotStored"); !strings.Contains(c.Message, message) || len(c.Message) > 1<<10 {
					t.Errorf("the name is not told: %s", c.Message)
				}
				for _, e := range w.events {
					if len(e.Message) > 1<<10 {
						t.Errorf("an event of %d bytes", len(e.Message))
					}
				}
				w.later(2)
				w.delete()
				w.later(5)
				w.restart()
				w.later(5)
				if calls := w.cloud.Calls(); w.gone() || len(w.cloud.Disks()) != 1 || slices.Contains(calls, "Delete") {
					t.Errorf("gone %t, disks %v, calls %v", w.gone(), w.cloud.Disks(), calls)
				}
				if name := meta.GetExternalName(w.get()); name != "" {
					t.Errorf("the name %q is stored", name)
				}
			})
		}
	}
}

// TestAChangedNameThatIsNotTakenBack verifies that an altered name that cannot be reverted is corrected later by
// the process that knows the name, unless a user sets another one.
func TestAChangedNameThatIsNotTakenBack(t *testing.T) {
	for want, choose := range map[string]bool{"vol-1": false, "chosen": true} {
		in := &objectstate.Handle{}
		w := newWorld(t, managed.WithObjectStates(in))
		w.cloud.Put(volume.Disk{ID: "chosen", SizeGiB: 1})
		w.admit = renames["a prefix"]
		w.answer = func(_ context.Context, note string) error {
			if strings.Contains(note, `"krateo.io/external-name":null`) {
				return errLost
			}

			return nil
		}
		w.create(nil)
		for range 3 {
			w.later(1)
			if c := w.condition(commonv1.TypeSynced,
				"False/MarksNotStored"); meta.GetExternalName(w.get()) != "x-vol-1" {
				t.Errorf("%s: %v, %s", want, w.get().Annotations, c.Message)
			}
		}
		w.admit = nil
		if choose {
			w.change(func(v *volume.Volume) { meta.SetExternalName(v, "chosen") })
		}
		w.later(3)
		if name := meta.GetExternalName(w.get()); name != want || len(w.cloud.Disks()) != 2 {
			t.Errorf("the name is %q, want %q; disks %v", name, want, w.cloud.Disks())
		}
		if r := w.remembered(in); r.Altered != "" || len(r.Unwritten) > 0 {
			t.Errorf("%s: once the name is settled, remembered are %q and %v", want, r.Altered, r.Unwritten)
		}
	}
}

// TestAnAuthorsUpdaterIsAnsweredAnotherName verifies that an altered name is detected also with an author's
// updater.
func TestAnAuthorsUpdaterIsAnsweredAnotherName(t *testing.T) {
	w := newWorld(t)
	changes := true
	updater := managed.NewRetryingCriticalAnnotationUpdater(w.API)
	w.o = append(w.o, managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(
		ctx context.Context, o client.Object) error {
		if err := updater.UpdateCriticalAnnotations(ctx, o); err != nil || !changes {
			return err
		}
		renames["a prefix"](o)

		return w.API.Update(ctx, o)
	})))
	w.restart()
	w.create(nil)
	w.later(3)
	w.condition(commonv1.TypeSynced, "False/MarksNotStored")
	if name := meta.GetExternalName(w.get()); name != "" {
		t.Errorf("the name %q is stored", name)
	}
	changes = false
	w.later(3)
	if name := meta.GetExternalName(w.get()); name != "vol-1" || len(w.cloud.Disks()) != 1 {
		t.Errorf("the name is %q, disks %v", name, w.cloud.Disks())
	}
}

// TestALearnedNameIsComparedToo verifies that a name that Observe sets is stored unaltered, or not at all.
func TestALearnedNameIsComparedToo(t *testing.T) {
	for what, learned := range map[string]string{"changed when it is stored": "arn:vol-1", "no UTF-8": "\xffvol-1"} {
		w := newWorld(t)
		w.create(nil)
		w.later(2)
		w.admit = renames["a prefix"]
		rename := func() {
			for _, d := range w.cloud.Disks() {
				w.cloud.Remove(d.ID)
				d.ID = learned
				w.cloud.Put(d)
			}
		}
		w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return renaming{c, learned} })
		rename()
		w.later(3)
		if c := w.condition(commonv1.TypeSynced, "False/MarksNotStored"); !strings.Contains(c.Message,
			strings.Trim(strconv.Quote(learned), `"`)) {
			t.Errorf("%s: %s", what, c.Message)
		}
		w.delete()
		w.later(5)
		if calls := w.cloud.Calls(); w.gone() != (len(w.cloud.Disks()) == 0) {
			t.Errorf("%s: gone %t, disks %v, calls %v", what, w.gone(), w.cloud.Disks(), calls)
		}
	}
}

// A renaming client knows the old name, and reports the new one.
type renaming struct {
	managed.ExternalClient

	learned string
}

func (c renaming) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if meta.GetExternalName(mg) == "vol-1" {
		meta.SetExternalName(mg, c.learned)
	}

	return c.ExternalClient.Observe(ctx, mg)
}

// TestAChangedNameIsNoNews verifies that an altered name and its reversal reset no backoff.
func TestAChangedNameIsNoNews(t *testing.T) {
	for how, rename := range renames {
		w := newWorld(t)
		var versions []*volume.Volume
		w.admit = rename
		w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				versions = append(versions, w.get())
				w.admit = func(o client.Object) {
					rename(o)
					if v, ok := o.DeepCopyObject().(*volume.Volume); ok {
						versions = append(versions, v)
					}
				}
			}

			return nil
		}
		w.create(nil)
		_, _ = w.try()
		if len(versions) < 3 {
			t.Errorf("%s: %d versions", how, len(versions))
		}
		for i := range versions[1:] {
			if w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: versions[i], ObjectNew: versions[i+1]}) {
				t.Errorf("%s: version %d asks for a pass: %v, %v", how, i+1, versions[i].Annotations,
					versions[i+1].Annotations)
			}
		}
	}
}
