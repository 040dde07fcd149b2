package systemtest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/pagetest"
	"github.com/moorage-dev/moorage/pkg/syncer"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// Marks of vcluster-sdk v0.4.
const (
	markManagedBy = "vcluster.loft.sh/managed-by"
	markNamespace = "vcluster.loft.sh/namespace"
	markName      = "vcluster.loft.sh/object-name"
	markOf        = "vcluster.loft.sh/object-namespace"
	markCopied    = "vcluster.loft.sh/managed-annotations"
)

// A plugin is what a syncer of widgets does on vcluster-sdk v0.4, as far as it reads and writes
// objects. A test makes its passes.
type plugin struct {
	*testSyncer

	api  client.Client // of the host
	sent *test.Ledger
}

// before returns the syncer as it was on the SDK.
func (f *testSyncer) before() *plugin {
	f.Helper()
	p := &plugin{testSyncer: f, sent: &test.Ledger{}}
	var err error
	if p.api, err = client.New(counted(hostPlane.config, p.sent), client.Options{Scheme: scheme}); err != nil {
		f.Fatal(err)
	}
	return p
}

// passes runs a pass for every widget of either cluster.
func (p *plugin) passes() {
	p.Helper()
	names := map[types.NamespacedName]bool{}
	for _, v := range widgets(p.T, tenantPlane.api, p.ns) {
		names[client.ObjectKeyFromObject(&v)] = true
	}
	for _, b := range widgets(p.T, p.api, p.target) {
		if a := b.GetAnnotations(); b.GetLabels()[markManagedBy] == p.name && a[markName] != "" {
			names[types.NamespacedName{Namespace: a[markOf], Name: a[markName]}] = true
		}
	}
	for name := range names {
		p.pass(name)
	}
}

func (p *plugin) pass(name types.NamespacedName) {
	p.Helper()
	v, image := newWidget(name.Namespace, name.Name, 0), p.imageOf(name.Name)
	image.SetAnnotations(nil)
	here, there := exists(p.T, tenantPlane.api, v), exists(p.T, p.api, image)
	var err error
	switch {
	case here && !there:
		image.Object["spec"] = v.Object["spec"]
		annotations, labels := p.metadata(v, nil)
		image.SetAnnotations(annotations)
		image.SetLabels(labels)
		err = p.api.Create(p.Context(), image)
	case here:
		err = p.sync(v, image)
	case there && image.GetLabels()[markManagedBy] == p.name:
		err = p.api.Delete(p.Context(), image)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// sync writes the desired image without a check.
func (p *plugin) sync(v, image *widget) error {
	if status := image.Object["status"]; !equality.Semantic.DeepEqual(status, v.Object["status"]) {
		v.Object["status"] = status
		if err := tenantPlane.api.Status().Update(p.Context(), v); err != nil {
			return err
		}
	}
	updated := image.DeepCopy()
	annotations, labels := p.metadata(v, image)
	updated.SetAnnotations(annotations)
	updated.SetLabels(labels)
	updated.Object["spec"] = v.Object["spec"]
	if equality.Semantic.DeepEqual(image, updated) {
		return nil
	}
	return p.api.Update(p.Context(), updated)
}

// metadata returns the annotations and labels of an image. Those annotations stay that the host has
// put on it.
func (p *plugin) metadata(v, image *widget) (annotations, labels map[string]string) {
	labels = map[string]string{markManagedBy: p.name, markNamespace: v.GetNamespace()}
	for key, value := range v.GetLabels() {
		sum := sha256.Sum256([]byte(key))
		labels["vcluster.loft.sh/label-"+p.name+"-x-"+hex.EncodeToString(sum[:])[:10]] = value
	}
	annotations = map[string]string{}
	var copied []string
	for key, value := range v.GetAnnotations() {
		annotations[key] = value
		copied = append(copied, key)
	}
	if image != nil {
		was := strings.Split(image.GetAnnotations()[markCopied], "\n")
		for key, value := range image.GetAnnotations() {
			if _, now := annotations[key]; !now && !slices.Contains(was, key) {
				annotations[key] = value
			}
		}
	}
	annotations[markName], annotations[markOf] = v.GetName(), v.GetNamespace()
	delete(annotations, markCopied)
	if len(copied) > 0 {
		slices.Sort(copied)
		annotations[markCopied] = strings.Join(copied, "\n")
	}
	return annotations, labels
}

// imageOf returns the name that a widget has on the host.
func (f *testSyncer) imageOf(name string) *widget {
	return newWidget(f.target, name+"-x-"+f.ns+"-x-"+f.name, 1)
}

// launches makes a widget in the tenant.
func (f *testSyncer) launches(name string) {
	f.Helper()
	b := newWidget(f.ns, name, 12)
	b.SetLabels(map[string]string{"app": name})
	b.SetAnnotations(map[string]string{"note": "of " + name, "slot": "1"})
	if err := tenantPlane.api.Create(f.Context(), b); err != nil {
		f.Fatal(err)
	}
}

// changes patches a widget.
func (f *testSyncer) changes(c client.Client, b *widget, patch string) {
	f.Helper()
	if err := c.Patch(f.Context(), b, merge(patch)); err != nil {
		f.Fatal(err)
	}
}

func (f *testSyncer) deletes(c client.Client, b *widget) {
	f.Helper()
	if err := c.Delete(f.Context(), b); err != nil {
		f.Fatal(err)
	}
}

// uids returns those of the widgets of the host, by name.
func (f *testSyncer) uids() map[string]types.UID {
	f.Helper()
	all := map[string]types.UID{}
	for _, b := range widgets(f.T, hostPlane.api, f.target) {
		all[b.GetName()] = b.GetUID()
	}
	return all
}

// marked waits until the images of widgets say of which object they are.
func (f *testSyncer) marked(names ...string) {
	f.Helper()
	for _, name := range names {
		wait.Until(f.T, "the image of "+name+" says whose it is", func() bool {
			image, v := f.imageOf(name), newWidget(f.ns, name, 1)
			return exists(f.T, hostPlane.api, image) && exists(f.T, tenantPlane.api, v) &&
				image.GetAnnotations()[translator.UIDAnnotation] == string(v.GetUID())
		})
	}
}

// wrote returns how often something was sent that changes a widget of the host, by what and its name.
func wrote(l *test.Ledger) map[string]int {
	all := map[string]int{}
	for _, r := range l.Objects() {
		if r.Verb != "GET" {
			all[r.Verb+" "+r.Name]++
		}
	}
	l.Reset()
	return all
}

// page runs a command that the page has for the way back, and returns what it lists of the fleet.
func (f *testSyncer) page(n int, c client.Client) []string {
	f.Helper()
	commands, err := pagetest.Commands("../../../../docs/syncer.md", "### Going back",
		"cars.example.org", "widgets."+widgetKind.Group, "syncer.moorage.dev/cars", "syncer.moorage.dev/widgets",
		"--namespace=tenants", "--namespace="+f.target, "managed-by=red", "managed-by="+f.name)
	if err != nil || len(commands) != 2 {
		f.Fatalf("want two commands, got %q, %v", commands, err)
	}
	out, err := pagetest.Kubectl{Client: c}.Run(f.Context(), commands[n])
	if err != nil {
		f.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(out) {
		if name, own := strings.CutPrefix(strings.TrimSpace(line), f.ns+"/"); own {
			names = append(names, name)
		}
	}
	return names
}

// TestTakeover: the images of a plugin are taken over while it is stopped, in every state: none is made a second
// time or deleted, and foreign objects stay as they are. Then they go back, with one that was made
// here, and forth again.
func TestTakeover(t *testing.T) {
	t.Parallel()
	f := newTestSyncer(t, "changes", syncer.Options{HostDeletion: syncer.BeforeVirtual})
	f.limitToNamespace()
	if err := translate.EnsureCRDFromPhysicalCluster(
		t.Context(), hostPlane.config, tenantPlane.config, widgetKind); err != nil {
		t.Fatal(err)
	}
	p := f.before()
	c := &changeover{testSyncer: f, before: p, foreign: map[string]string{}}
	c.forth()
	c.back()
	c.forthAgain()
}

// A changeover is a fleet that goes from a plugin to Moorage, back, and forth again.
type changeover struct {
	*testSyncer

	before  *plugin
	foreign map[string]string // widgets of others on the host, as they are
}

// forth takes over what the plugin has left.
func (c *changeover) forth() {
	c.Helper()
	host, tenant := hostPlane.api, tenantPlane.api
	for _, name := range []string{"plain", "changed", "gone", "leaving", "hosted", "old"} {
		c.launches(name)
	}
	c.before.passes()
	image := c.imageOf("plain")
	if err := host.Status().Patch(c.Context(), image, merge(`{"status":{"ready":true}}`)); err != nil {
		c.Fatal(err)
	}
	c.changes(host, c.imageOf("hosted"), `{"metadata":{"annotations":{"example.org/slot":"7"}}}`)
	c.changes(host, c.imageOf("old"), `{"metadata":{"annotations":null}}`) // as before there were annotations
	c.before.pass(types.NamespacedName{Namespace: c.ns, Name: "plain"})

	// No syncer runs meanwhile.
	c.changes(tenant, newWidget(c.ns, "changed", 1), `{"spec":{"length":13},"metadata":{"annotations":{"slot":null}}}`)
	c.deletes(tenant, newWidget(c.ns, "gone", 1))
	c.changes(tenant, newWidget(c.ns, "leaving", 1), `{"metadata":{"finalizers":["example.org/kept"]}}`)
	c.deletes(tenant, newWidget(c.ns, "leaving", 1))
	c.launches("missing")
	c.launches("taken")
	theirs := c.imageOf("taken") // under a name of ours
	other := newWidget(c.target, "plain-x-"+c.ns+"-x-blue", 7)
	other.SetLabels(map[string]string{markManagedBy: "blue", markNamespace: c.ns})
	other.SetAnnotations(map[string]string{markName: "plain", markOf: c.ns})
	for _, b := range []*widget{theirs, other, newWidget(c.target, "theirs", 7)} {
		if err := host.Create(c.Context(), b); err != nil {
			c.Fatal(err)
		}
		c.foreign[b.GetName()] = text(b)
	}
	before := c.uids()
	was := c.metadataOf("plain", "hosted")

	c.start()
	c.marked("plain", "changed", "leaving", "hosted", "old", "missing")
	wait.Until(c.T, "the image goes whose object has gone", func() bool { return !exists(c.T, host, c.imageOf("gone")) })
	c.reportsConflicts(1)
	c.shutDown()
	delete(before, c.imageOf("gone").GetName())
	now := c.uids()
	delete(now, c.imageOf("missing").GetName())
	if diff := cmp.Diff(before, now); diff != "" {
		c.Errorf("widgets on the host: -before +after:\n%s", diff)
	}
	want := map[string]int{"DELETE " + c.imageOf("gone").GetName(): 1}
	for _, name := range []string{"plain", "changed", "leaving", "hosted", "old", "missing"} {
		want["PATCH "+c.imageOf(name).GetName()] = 1
	}
	if diff := cmp.Diff(want, wrote(c.host)); diff != "" {
		c.Errorf("sent to the host: -want +got:\n%s", diff)
	}
	c.untouched()

	// Its metadata has two marks more, and nothing else.
	marks := c.metadataOf("plain", "hosted")
	for _, name := range []string{"plain", "hosted"} {
		for _, mark := range []string{translator.UIDAnnotation, translator.ClusterAnnotation} {
			if marks[name+" annotation "+mark] == "" {
				c.Errorf("the image of %s has no mark %s", name, mark)
			}
			delete(marks, name+" annotation "+mark)
		}
	}
	if diff := cmp.Diff(was, marks); diff != "" {
		c.Errorf("metadata of images: -before +after:\n%s", diff)
	}
	changed := c.imageOf("changed")
	_ = exists(c.T, host, changed)
	if length := changed.Object["spec"].(map[string]any)["length"]; length != int64(13) ||
		changed.GetAnnotations()["slot"] != "" {
		c.Errorf("what was changed meanwhile is not: %v", changed.Object)
	}
}

// metadataOf returns the labels and annotations of images.
func (c *changeover) metadataOf(names ...string) map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, name := range names {
		image := c.imageOf(name)
		_ = exists(c.T, hostPlane.api, image)
		for key, value := range image.GetAnnotations() {
			all[name+" annotation "+key] = value
		}
		for key, value := range image.GetLabels() {
			all[name+" label "+key] = value
		}
	}
	return all
}

// untouched compares the widgets of others with how they were.
func (c *changeover) untouched() {
	c.Helper()
	for _, b := range widgets(c.T, hostPlane.api, c.target) {
		if was, others := c.foreign[b.GetName()]; others && was != text(&b) {
			c.Errorf("a foreign widget was changed:\n%s\n%s", was, text(&b))
		}
	}
}

// back lets the plugin go on, after what the page says is to be done first.
func (c *changeover) back() {
	c.Helper()
	host, tenant := hostPlane.api, tenantPlane.api
	if held := c.page(0, tenant); !slices.Equal(held, []string{"changed", "hosted", "missing", "old", "plain"}) {
		c.Errorf("the page lists the finalizers of %v", held)
	}
	c.options.HostDeletion = syncer.AfterVirtual
	c.start()
	wait.Until(c.T, "no widget has the finalizer", func() bool { return len(c.page(0, tenant)) == 0 })
	c.deletes(tenant, newWidget(c.ns, "taken", 1)) // the conflict, which the plugin would not see
	wait.Until(c.T, "it is gone", func() bool { return !exists(c.T, tenant, newWidget(c.ns, "taken", 1)) })
	c.shutDown()
	before := c.uids()
	c.page(1, host)

	// What it finds is as it would have made it.
	c.before.sent.Reset()
	c.before.passes()
	if sent := wrote(c.before.sent); len(sent) != 0 {
		c.Errorf("the plugin changes on the host: %v", sent)
	}
	if diff := cmp.Diff(before, c.uids()); diff != "" {
		c.Errorf("widgets on the host: -before +after:\n%s", diff)
	}
	c.untouched()

	// A widget that was made here, and one that is not deleted yet, end there.
	c.changes(tenant, newWidget(c.ns, "leaving", 1), `{"metadata":{"finalizers":null}}`)
	c.deletes(tenant, newWidget(c.ns, "missing", 1))
	// Of one that is deleted and made again while it does not look, it keeps the image.
	c.deletes(tenant, newWidget(c.ns, "plain", 1))
	wait.Until(c.T, "all three are gone", func() bool {
		return !exists(c.T, tenant, newWidget(c.ns, "leaving", 1)) && !exists(c.T, tenant, newWidget(c.ns, "missing", 1)) &&
			!exists(c.T, tenant, newWidget(c.ns, "plain", 1))
	})
	c.launches("plain")
	c.before.passes()
	for _, name := range []string{"leaving", "missing"} {
		delete(before, c.imageOf(name).GetName())
	}
	if diff := cmp.Diff(before, c.uids()); diff != "" {
		c.Errorf("widgets on the host: -want +got:\n%s", diff)
	}
}

// forthAgain takes over again what was there twice, and ends it.
func (c *changeover) forthAgain() {
	c.Helper()
	before := c.uids()
	c.host.Reset()
	c.start()
	c.marked("plain", "changed", "hosted", "old")
	if diff := cmp.Diff(before, c.uids()); diff != "" {
		c.Errorf("widgets on the host: -before +after:\n%s", diff)
	}
	deleteWidgets(c.T, tenantPlane, c.ns)
	wait.Until(c.T, "nothing but the widgets of others is left", func() bool {
		return len(widgets(c.T, hostPlane.api, c.target)) == len(c.foreign)
	})
	c.untouched()
}
