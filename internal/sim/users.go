package sim

import (
	"context"
	"fmt"
	"maps"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A users has the users of a world. They write to the API server, and their requests never fail.
type users struct {
	world  *World
	client *apiserver.Client

	// edit changes the spec of an object for the n-th time.
	edit func(mg resource.Managed, n int)
	// drift changes an external resource out of band.
	drift func()

	userActions
}

// A userActions has what users have done.
type userActions struct {
	edits int
	made  int  // objects
	acted bool // beyond what the scenario says

	// Actions by UID that excuse a violation.
	adopted  map[types.UID]bool // may have a resource that was not made for it
	released map[types.UID]bool // what may have been created was given up
	left     map[types.UID]bool // the resource has to stay
	answered map[types.UID]bool // the result of a creation was recorded

	manifests map[types.UID][]manifest // the annotations that they gave objects, one after another

	wrote map[types.UID]int            // the change of the server that they made last of an object that was there
	names map[types.UID]string         // of all objects that ever were
	times map[types.NamespacedName]int // how often there was an object of the name
}

func newUsers(w *World) *users {
	return &users{
		world: w, client: w.server.Client().As("user"), edit: func(resource.Managed, int) {},
		userActions: userActions{
			adopted: map[types.UID]bool{}, released: map[types.UID]bool{}, left: map[types.UID]bool{},
			answered: map[types.UID]bool{}, names: map[types.UID]string{},
			wrote:     map[types.UID]int{},
			manifests: map[types.UID][]manifest{}, times: map[types.NamespacedName]int{},
		},
	}
}

func (u *users) orphaned(uid types.UID) { u.left[uid] = true }

// create creates an object.
func (u *users) create(mg resource.Managed) types.UID {
	if u.world.replaying() {
		return u.world.server.Skip()
	}
	given := manifest{len(u.world.server.Changes(0)), maps.Clone(mg.GetAnnotations())}
	u.must(u.client.Create(context.Background(), mg))
	u.made++
	u.manifests[mg.GetUID()] = []manifest{given}
	u.names[mg.GetUID()] = mg.GetName()
	u.times[keyOf(mg)]++

	return mg.GetUID()
}

// Touch writes a part of an object that the reconciler ignores, such as a condition or a label of another controller.
func (u *users) Touch() {
	for _, mg := range u.all() {
		u.edits++
		key := keyOf(mg)
		u.annotate(key, "example.com/touched", fmt.Sprint(u.edits))
		if mg = u.get(key); mg != nil {
			mg.SetConditions(commonv1.Condition{Type: "Inspected", Status: "True", Reason: "Inspected",
				Message: fmt.Sprint(u.edits)})
			u.must(client.IgnoreNotFound(u.client.Status().Update(context.Background(), mg)))
		}
	}
}

// act does the user action of a fault.
func (u *users) act(f Fault) {
	u.acted = true
	for _, mg := range u.all() {
		key := keyOf(mg)
		switch f.Kind { //nolint:exhaustive // the others are no deed of users
		case Edit:
			u.edits++
			n := u.edits
			u.change(key, func(mg resource.Managed) { u.edit(mg, n) })
		case Delete:
			u.delete(key)
		case Pause:
			u.annotate(key, keyPaused, "true")
			u.world.in(f.duration(), func() { u.annotate(key, keyPaused, "") })
		}
	}
	if f.Kind == Drift && u.drift != nil {
		u.drift()
	}
}

// all returns the objects of the world by key, in the order of their creation. They must not be modified. Checks of
// external systems outside this package receive copies.
func (u *users) all() []resource.Managed {
	var out []resource.Managed
	for _, c := range u.world.server.Changes(0) {
		if c.Type != apiserver.Added || c.Kind != u.world.config.gvk() {
			continue
		}
		mg := u.see(c.Key)
		if mg == nil || mg.GetUID() != c.Object.GetUID() {
			continue
		}
		if u.world.system == nil {
			mg = u.get(c.Key)
		}
		out = append(out, mg)
	}

	return out
}

func keyOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// delete deletes an object, if it exists.
func (u *users) delete(key types.NamespacedName) {
	if u.world.replaying() {
		return
	}
	if mg := u.see(key); mg != nil {
		u.must(client.IgnoreNotFound(u.client.Delete(context.Background(), mg)))
		u.world.losesStripped(mg)
	}
}

// annotate sets an annotation of an object. An empty value removes it.
func (u *users) annotate(key types.NamespacedName, annotation, value string) {
	u.change(key, func(mg resource.Managed) {
		if value == "" {
			unannotate(mg, annotation)
		} else {
			annotate(mg, annotation, value)
		}
	})
}

// change changes an object, as kubectl edit does. It does nothing if the object does not exist.
func (u *users) change(key types.NamespacedName, change func(resource.Managed)) {
	if u.world.replaying() {
		return
	}
	mg := u.get(key)
	if mg == nil {
		return
	}
	before := maps.Clone(mg.GetAnnotations())
	change(mg)
	u.recordUserAnnotations(mg, before)
	at := len(u.world.server.Changes(0))
	err := u.client.Update(context.Background(), mg)
	if kerrors.IsInvalid(err) {
		return // a finalizer on what is being deleted
	}
	u.must(err)
	u.wrote[mg.GetUID()] = at
}

// get returns a copy of an object, or nil.
func (u *users) get(key types.NamespacedName) resource.Managed {
	mg := u.see(key)
	if mg == nil {
		return nil
	}
	// a copy has the type of its original
	return mg.DeepCopyObject().(resource.Managed)
}

// see returns the stored object, or nil. It is shared and must not be modified.
func (u *users) see(key types.NamespacedName) resource.Managed {
	mg, _ := u.world.server.Stored(u.world.config.gvk(), key).(resource.Managed)

	return mg
}

func (u *users) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("a user of the simulation failed: %v", err))
	}
}

// unannotate removes annotations of an object.
func unannotate(o metav1.Object, keys ...string) {
	annotations := maps.Clone(o.GetAnnotations())
	for _, key := range keys {
		delete(annotations, key)
	}
	o.SetAnnotations(annotations)
}

// annotate sets an annotation of an object.
func annotate(o metav1.Object, key, value string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

// blocked returns whether an object reports that the result of its creation is unknown, and requests an action that its
// users have not done yet.
func blocked(mg resource.Managed) bool {
	c := conditionOf(mg, "Synced")
	if strings.Contains(c.Message, "remove the "+keyPending) && !isPending(mg) {
		return false
	}

	created := conditionOf(mg, "Created") // which says so if another failure has replaced the question
	asks := created.Status == "Unknown" && created.Reason == "Unresolved" && isPending(mg)

	return c.Status == "False" &&
		(asks || c.Reason == "CreationUnresolved" || strings.Contains(c.Message, "cannot determine creation result"))
}
