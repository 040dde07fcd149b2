package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

const widgetCount = 20

// protections are the combinations of safety rules when another cluster answers in place
// of the tenant, or none. Each rule is sufficient; without any, images are deleted.
var protections = map[string]struct {
	reason    string
	unguarded bool
	confirm   syncer.Confirmation
	deletes   bool
}{
	"guarded":    {reason: "The default."},
	"confirming": {reason: "Without a guard, the live read prevents deletions.", unguarded: true},
	"unprotected": {
		reason: "With ConfirmCached and without a guard, images are deleted.", unguarded: true, confirm: syncer.ConfirmCached,
		deletes: true,
	},
}

// An outage is a set of synced widgets whose tenant is then replaced or stopped.
type outage struct {
	*testSyncer

	what    string // in the names of figures
	journal *failureLog
	master  *switchingProxy
	orphan  types.NamespacedName // a virtual name under which there never was a widget
	images  map[string]types.UID // of the widgets, by host name
}

func newOutage(t *testing.T, what, protection string, tenant *controlPlane) *outage {
	t.Helper()
	p := protections[protection]
	f := newTestSyncer(t, "swapped", syncer.Options{MaxConcurrentReconciles: workers, ConfirmAbsence: p.confirm})
	f.unguarded = p.unguarded
	o := &outage{
		testSyncer: f, what: what + "_" + protection, journal: f.logFailures(), master: newSwitchingProxy(t, tenant),
	}
	f.ns, f.tenantConf = namespace(t, tenant.api), counted(o.master.config(), f.tenant)
	o.orphan = types.NamespacedName{Namespace: f.ns, Name: "orphan"}
	f.limitToNamespace()
	f.cleanUp(f.ns)
	f.start()
	for i := range widgetCount {
		if err := tenant.api.Create(t.Context(), newWidget(f.ns, fmt.Sprintf("widget-%d", i), 12)); err != nil {
			t.Fatal(err)
		}
	}
	// An object shows before the answer to its creation is counted.
	wait.Until(t, "all are down", func() bool { return len(o.left()) == widgetCount && len(o.sent("")) >= widgetCount })
	t.Logf("written until all are down: %s", test.SummarizeRequests(o.sent("")))
	o.images = o.left()
	f.host.Reset()
	f.tenant.Reset()
	o.journal.reset()
	return o
}

// left returns the images on the host of widgets in this namespace.
func (o *outage) left() map[string]types.UID {
	o.Helper()
	out := map[string]types.UID{}
	for _, b := range widgets(o.T, hostPlane.api, o.target) {
		if b.GetLabels()[translate.NamespaceLabel] == o.ns {
			out[b.GetName()] = b.GetUID()
		}
	}
	return out
}

// sent returns the writes to the host, or those of one verb.
func (o *outage) sent(verb string) []test.Request {
	var out []test.Request
	for _, r := range o.host.Objects() {
		if r.Verb != http.MethodGet && (verb == "" || r.Verb == verb) {
			out = append(out, r)
		}
	}
	return out
}

func (o *outage) hostName(virtual string) string { return o.reg.Names.PhysicalName(virtual, o.ns) }

// createOrphan creates an image on the host without a virtual object, which the tenant
// would confirm to delete. It also changes every other image, so that each is reconciled.
func (o *outage) createOrphan() {
	o.Helper()
	b := newWidget(o.target, o.hostName(o.orphan.Name), 12)
	b.SetLabels(map[string]string{translate.MarkerLabel: o.name, translate.NamespaceLabel: o.ns})
	b.SetAnnotations(map[string]string{
		translator.NameAnnotation: o.orphan.Name, translator.NamespaceAnnotation: o.ns,
		translator.UIDAnnotation: "never", translator.ClusterAnnotation: o.reg.Names.Cluster,
	})
	if err := hostPlane.api.Create(o.Context(), b); err != nil {
		o.Fatal(err)
	}
	for name := range o.images {
		err := hostPlane.api.Patch(
			o.Context(), newWidget(o.target, name, 12), merge(`{"metadata":{"annotations":{"touched":"yes"}}}`))
		// a syncer without protection may have deleted it already; o.check verifies the others
		if client.IgnoreNotFound(err) != nil {
			o.Fatal(err)
		}
	}
}

// check checks the writes while the wrong cluster or none answers. Without protection,
// images must be deleted.
func (o *outage) check(protection string, lost bool) {
	o.Helper()
	p := protections[protection]
	if p.deletes {
		wait.Until(o.T, "images are deleted because of the cache", func() bool {
			return len(o.sent(http.MethodDelete)) > 0 && (!lost || o.missing() > 0)
		})
		figure("images_deleted_while_"+o.what, len(o.sent(http.MethodDelete)))
		return
	}
	wait.Until(o.T, "deleting the orphan was tried, twice", func() bool { return o.journal.failures(o.orphan) > 1 })
	if p.unguarded && lost {
		for i := range widgetCount {
			name := types.NamespacedName{Namespace: o.ns, Name: fmt.Sprintf("widget-%d", i)}
			wait.Until(o.T, "deleting "+name.Name+" was tried", func() bool { return o.journal.failures(name) > 0 })
		}
	}
	deleted := o.sent(http.MethodDelete)
	figure("images_deleted_while_"+o.what, len(deleted))
	if len(deleted) != 0 {
		o.Errorf("%s\ndeleted: %v", p.reason, deleted)
	}
	if !p.unguarded {
		figure("writes_to_the_host_while_"+o.what, len(o.sent("")))
		if len(o.sent("")) != 0 {
			o.Errorf("%s\nwritten to the host: %s", p.reason, test.SummarizeRequests(o.sent("")))
		}
	}
	o.checkUnchanged()
}

// missing returns how many images of existing widgets are gone.
func (o *outage) missing() int {
	o.Helper()
	n, now := 0, o.left()
	for name, uid := range o.images {
		if now[name] != uid {
			n++
		}
	}
	return n
}

// checkUnchanged checks that every image is still the same object.
func (o *outage) checkUnchanged() {
	o.Helper()
	now := o.left()
	for name, uid := range o.images {
		if now[name] != uid {
			o.Errorf("the image %s has UID %q, it was %q", name, now[name], uid)
		}
	}
}

// TestSwappedServer replaces the tenant by another control plane, with and without an
// outage, or by none, and verifies that nothing is deleted on the host.
func TestSwappedServer(t *testing.T) {
	t.Parallel()
	other := other(t)
	kind := widgetCRD()
	kind.Spec.Conversion = nil
	if err := client.IgnoreAlreadyExists(other.api.Create(t.Context(), kind)); err != nil {
		t.Fatal(err)
	}
	for what, lost := range map[string]bool{"swapped": true, "unreachable": false, "swapped_after_an_outage": true} {
		for protection := range protections {
			t.Run(what+"/"+protection, func(t *testing.T) {
				t.Parallel()
				o := newOutage(t, what, protection, tenantPlane)
				o.fillOther(other)
				if what != "swapped" {
					o.master.switchTo(t, nil)
				}
				if what == "swapped_after_an_outage" {
					wait.Until(t, "the outage is noticed", func() bool { return o.refused() > 0 })
				}
				if lost {
					o.master.switchTo(t, other)
				}
				o.createOrphan()
				o.check(protection, lost)
				o.master.switchTo(t, tenantPlane)
				if !protections[protection].deletes {
					o.recover()
				}
			})
		}
	}
}

// fillOther creates widgets in another control plane: one with the name of a tenant's
// widget and one with a new name.
func (o *outage) fillOther(p *controlPlane) {
	o.Helper()
	if err := p.api.Create(o.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.ns}}); err != nil {
		o.Fatal(err)
	}
	for _, name := range []string{"widget-0", "intruder"} {
		wait.Until(o.T, "the other one has widgets", func() bool {
			return p.api.Create(o.Context(), newWidget(o.ns, name, 66)) == nil
		})
	}
}

// refused returns the number of requests that were not answered.
func (o *outage) refused() int {
	n := 0
	for _, r := range o.tenant.All() {
		if r.Status == http.StatusBadGateway {
			n++
		}
	}
	return n
}

// recover verifies that, after the original cluster is back, only the orphan is deleted.
func (o *outage) recover() {
	o.Helper()
	wait.Until(o.T, "the original cluster is back", func() bool { return len(o.left()) == widgetCount })
	o.checkUnchanged()
	deleteWidgets(o.T, tenantPlane, o.ns)
	wait.Until(o.T, "the right one still deletes", func() bool { return len(o.left()) == 0 })
}

// TestEmptiedServer takes the data of the tenant's control plane away: under the same
// address and with the same certificates it answers as if nothing had ever been there.
// Nothing is deleted on the host, not even by a syncer that is started after that.
func TestEmptiedServer(t *testing.T) {
	t.Parallel()
	restarted, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restarted.Stop() })
	ordeals := map[string]*outage{}
	for protection := range protections {
		ordeals[protection] = newOutage(t, "emptied", protection, restarted)
	}
	empty(t, restarted)
	for protection, o := range ordeals {
		t.Run(protection, func(t *testing.T) {
			t.Parallel()
			o.T = t
			if err := restarted.api.Create(t.Context(), &corev1.Namespace{
				ObjectMeta: metav1.ObjectMeta{Name: o.ns},
			}); err != nil {
				t.Fatal(err)
			}
			o.master.switchTo(t, restarted) // whose versions begin anew
			o.createOrphan()
			o.check(protection, true)
			if protections[protection].deletes {
				return
			}
			o.shutDown()
			o.start()
			for _, name := range []string{"widget-0", "new"} { // a namesake, and another one
				wait.Until(t, "a widget is made", func() bool {
					return restarted.api.Create(t.Context(), newWidget(o.ns, name, 12)) == nil
				})
			}
			wait.Until(t, "the new widget is down", func() bool { return o.left()[o.hostName("new")] != "" })
			o.checkUnchanged()
			deleted := o.sent(http.MethodDelete)
			figure("images_deleted_after_it_was_"+o.what, len(deleted))
			if len(deleted) != 0 {
				t.Errorf("deleted: %v", deleted)
			}
		})
	}
}

// empty takes the data of a control plane away, and makes it serve widgets again.
func empty(t *testing.T, p *controlPlane) {
	t.Helper()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(p.Dir, "etcd")); err != nil {
		t.Fatal(err)
	}
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	kind := widgetCRD()
	kind.Spec.Conversion = nil
	if err := p.api.Create(t.Context(), kind); err != nil {
		t.Fatal(err)
	}
}
