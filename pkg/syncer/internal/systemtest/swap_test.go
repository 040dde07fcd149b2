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

const convoy = 20

// protections are what keeps a host from the consequences when somebody else answers
// in the place of its tenant, or nobody. Each of them is enough alone. Without any,
// these tests see images deleted.
var protections = map[string]struct {
	reason    string
	unguarded bool
	confirm   syncer.Confirmation
	deletes   bool
}{
	"guarded":     {reason: "As it is by default."},
	"confirming":  {reason: "Without a guard, the live read keeps everything.", unguarded: true},
	"unprotected": {reason: "Whoever believes a cache deletes.", unguarded: true, confirm: syncer.ConfirmCached, deletes: true},
}

// An ordeal is a convoy of boats that has been synced down before something happens
// to the tenant.
type ordeal struct {
	*fleet

	what    string // in the names of figures
	journal *journal
	master  *harbourMaster
	orphan  types.NamespacedName // a virtual name under which there never was a boat
	images  map[string]types.UID // of the convoy, by host name
}

func newOrdeal(t *testing.T, what, protection string, tenant *plane) *ordeal {
	t.Helper()
	p := protections[protection]
	f := newFleet(t, "swapped", syncer.Options{MaxConcurrentReconciles: workers, ConfirmAbsence: p.confirm})
	f.unguarded = p.unguarded
	o := &ordeal{fleet: f, what: what + "_" + protection, journal: f.keepJournal(), master: newHarbourMaster(t, tenant)}
	f.ns, f.tenantConf = namespace(t, tenant.api), counted(o.master.config(), f.tenant)
	o.orphan = types.NamespacedName{Namespace: f.ns, Name: "orphan"}
	f.alone()
	f.sweep(f.ns)
	f.sail()
	for i := range convoy {
		if err := tenant.api.Create(t.Context(), newBoat(f.ns, fmt.Sprintf("boat-%d", i), 12)); err != nil {
			t.Fatal(err)
		}
	}
	// An object shows before the answer to its creation is counted.
	wait.Until(t, "all are down", func() bool { return len(o.left()) == convoy && len(o.sent("")) >= convoy })
	t.Logf("written until all are down: %s", test.SummarizeRequests(o.sent("")))
	o.images = o.left()
	f.host.Reset()
	f.tenant.Reset()
	o.journal.reset()
	return o
}

// left returns the images on the host of boats in this namespace.
func (o *ordeal) left() map[string]types.UID {
	o.Helper()
	out := map[string]types.UID{}
	for _, b := range boats(o.T, hostPlane.api, o.target) {
		if b.GetLabels()[translate.NamespaceLabel] == o.ns {
			out[b.GetName()] = b.GetUID()
		}
	}
	return out
}

// sent returns the requests to the host that were to change something, or those of
// one verb.
func (o *ordeal) sent(verb string) []test.Request {
	var out []test.Request
	for _, r := range o.host.Objects() {
		if r.Verb != http.MethodGet && (verb == "" || r.Verb == verb) {
			out = append(out, r)
		}
	}
	return out
}

func (o *ordeal) hostName(virtual string) string { return o.reg.Names.PhysicalName(virtual, o.ns) }

// abandon puts an image on the host that nothing in the tenant belongs to: it is to be
// deleted as soon as the tenant says so. It changes every other image as well, so that
// there is a pass over each.
func (o *ordeal) abandon() {
	o.Helper()
	b := newBoat(o.target, o.hostName(o.orphan.Name), 12)
	b.SetLabels(map[string]string{translate.MarkerLabel: o.name, translate.NamespaceLabel: o.ns})
	b.SetAnnotations(map[string]string{
		translator.NameAnnotation: o.orphan.Name, translator.NamespaceAnnotation: o.ns,
		translator.UIDAnnotation: "never", translator.ClusterAnnotation: o.reg.Names.Cluster,
	})
	if err := hostPlane.api.Create(o.Context(), b); err != nil {
		o.Fatal(err)
	}
	for name := range o.images {
		err := hostPlane.api.Patch(o.Context(), newBoat(o.target, name, 12), merge(`{"metadata":{"annotations":{"touched":"yes"}}}`))
		if client.IgnoreNotFound(err) != nil { // who is not protected may have deleted it already; of the others the judge tells
			o.Fatal(err)
		}
	}
}

// judge what is done while the wrong one answers, or nobody. Of a syncer that is not
// protected, images are deleted: it must be seen.
func (o *ordeal) judge(protection string, lost bool) {
	o.Helper()
	p := protections[protection]
	if p.deletes {
		wait.Until(o.T, "who believes a cache deletes", func() bool {
			return len(o.sent(http.MethodDelete)) > 0 && (!lost || o.missing() > 0)
		})
		figure("images_deleted_while_"+o.what, len(o.sent(http.MethodDelete)))
		return
	}
	wait.Until(o.T, "deleting the orphan was tried, twice", func() bool { return o.journal.failures(o.orphan) > 1 })
	if p.unguarded && lost {
		for i := range convoy {
			name := types.NamespacedName{Namespace: o.ns, Name: fmt.Sprintf("boat-%d", i)}
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
	o.unharmed()
}

// missing returns how many images of living boats are gone.
func (o *ordeal) missing() int {
	o.Helper()
	n, now := 0, o.left()
	for name, uid := range o.images {
		if now[name] != uid {
			n++
		}
	}
	return n
}

// unharmed: every image of the convoy is the one that it was.
func (o *ordeal) unharmed() {
	o.Helper()
	now := o.left()
	for name, uid := range o.images {
		if now[name] != uid {
			o.Errorf("the image %s has UID %q, it was %q", name, now[name], uid)
		}
	}
}

// TestSwappedServer puts another control plane, with the same kind and objects of its
// own, in the place of the tenant's, with and without an outage, or nobody: nothing is
// deleted on the host.
func TestSwappedServer(t *testing.T) {
	t.Parallel()
	other := other(t)
	kind := boatCRD()
	kind.Spec.Conversion = nil
	if err := client.IgnoreAlreadyExists(other.api.Create(t.Context(), kind)); err != nil {
		t.Fatal(err)
	}
	for what, lost := range map[string]bool{"swapped": true, "unreachable": false, "swapped_after_an_outage": true} {
		for protection := range protections {
			t.Run(what+"/"+protection, func(t *testing.T) {
				t.Parallel()
				o := newOrdeal(t, what, protection, tenantPlane)
				o.pirate(other)
				if what != "swapped" {
					o.master.let(t, nil)
				}
				if what == "swapped_after_an_outage" {
					wait.Until(t, "the outage is noticed", func() bool { return o.refused() > 0 })
				}
				if lost {
					o.master.let(t, other)
				}
				o.abandon()
				o.judge(protection, lost)
				o.master.let(t, tenantPlane)
				if !protections[protection].deletes {
					o.recover()
				}
			})
		}
	}
}

// pirate gives another control plane boats in the namespace of the fleet: one of them
// a namesake, one of them new.
func (o *ordeal) pirate(p *plane) {
	o.Helper()
	if err := p.api.Create(o.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.ns}}); err != nil {
		o.Fatal(err)
	}
	for _, name := range []string{"boat-0", "pirate"} {
		wait.Until(o.T, "the other one has boats", func() bool { return p.api.Create(o.Context(), newBoat(o.ns, name, 66)) == nil })
	}
}

// refused returns how many requests nobody has answered.
func (o *ordeal) refused() int {
	n := 0
	for _, r := range o.tenant.All() {
		if r.Status == http.StatusBadGateway {
			n++
		}
	}
	return n
}

// recover: when the right one is back, what is to be deleted is, and only that.
func (o *ordeal) recover() {
	o.Helper()
	wait.Until(o.T, "the right one is back", func() bool { return len(o.left()) == convoy })
	o.unharmed()
	deleteBoats(o.T, tenantPlane, o.ns)
	wait.Until(o.T, "the right one still deletes", func() bool { return len(o.left()) == 0 })
}

// TestEmptiedServer takes the data of the tenant's control plane away: under the same
// address and with the same certificates it answers as if nothing had ever been there.
// Nothing is deleted on the host, not even by a syncer that is started after that.
func TestEmptiedServer(t *testing.T) {
	t.Parallel()
	doomed, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = doomed.Stop() })
	ordeals := map[string]*ordeal{}
	for protection := range protections {
		ordeals[protection] = newOrdeal(t, "emptied", protection, doomed)
	}
	empty(t, doomed)
	for protection, o := range ordeals {
		t.Run(protection, func(t *testing.T) {
			t.Parallel()
			o.T = t
			if err := doomed.api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.ns}}); err != nil {
				t.Fatal(err)
			}
			o.master.let(t, doomed) // whose versions begin anew
			o.abandon()
			o.judge(protection, true)
			if protections[protection].deletes {
				return
			}
			o.moor()
			o.sail()
			for _, name := range []string{"boat-0", "new"} { // a namesake, and another one
				wait.Until(t, "a boat is made", func() bool { return doomed.api.Create(t.Context(), newBoat(o.ns, name, 12)) == nil })
			}
			wait.Until(t, "the new boat is down", func() bool { return o.left()[o.hostName("new")] != "" })
			o.unharmed()
			deleted := o.sent(http.MethodDelete)
			figure("images_deleted_after_it_was_"+o.what, len(deleted))
			if len(deleted) != 0 {
				t.Errorf("deleted: %v", deleted)
			}
		})
	}
}

// empty takes the data of a control plane away, and makes it serve boats again.
func empty(t *testing.T, p *plane) {
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
	kind := boatCRD()
	kind.Spec.Conversion = nil
	if err := p.api.Create(t.Context(), kind); err != nil {
		t.Fatal(err)
	}
}
