package controllerruntime

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
)

// ControllerRuntime runs a controller whose primaries are in a store. Use NewControllerRuntime; the zero value is not
// usable. Its methods may be called concurrently. Run may be called only once.
type ControllerRuntime[
	TNatsPrim IEntity,
	TNatsSec1 IEntity, TNatsSec2 IEntity, TNatsSec3 IEntity, TNatsSec4 IEntity,
	TNatsTer1 IEntity, TNatsTer2 IEntity, TNatsTer3 IEntity, TNatsTer4 IEntity,
] struct {
	runtime *Runtime[TNatsPrim]
}

// NewControllerRuntime returns a runtime. kind is the kind of the primaries in the marks that name the owner of a
// secondary. Nil clients are ignored. The caller runs the informers. A resync interval of 0 disables the resync.
//
// This constructor exists for controllers that already use it. NewRuntime takes any number of dependencies, and
// storecontroller.New has more features.
func NewControllerRuntime[
	TNatsPrim IEntity,
	TNatsSec1 IEntity, TNatsSec2 IEntity, TNatsSec3 IEntity, TNatsSec4 IEntity,
	TNatsTer1 IEntity, TNatsTer2 IEntity, TNatsTer3 IEntity, TNatsTer4 IEntity,
](
	name string,
	kind string,
	kubeClientset kubernetes.Interface,
	primaryNatsClient IEntityClient[TNatsPrim],
	secondarySharedInformers []cache.SharedIndexInformer,
	terciarySharedInformers []cache.SharedIndexInformer,
	secondaryNatsClient1 IEntityClient[TNatsSec1],
	secondaryNatsClient2 IEntityClient[TNatsSec2],
	secondaryNatsClient3 IEntityClient[TNatsSec3],
	secondaryNatsClient4 IEntityClient[TNatsSec4],
	terciaryNatsClient1 IEntityClient[TNatsTer1],
	terciaryNatsClient2 IEntityClient[TNatsTer2],
	terciaryNatsClient3 IEntityClient[TNatsTer3],
	terciaryNatsClient4 IEntityClient[TNatsTer4],
	secondaryExternalClients []IExternalClient,
	resyncInterval time.Duration,
) (
	controllerRuntime *ControllerRuntime[TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2,
		TNatsTer3, TNatsTer4],
) {
	deps := []Dependency{
		Secondaries(secondaryNatsClient1), Secondaries(secondaryNatsClient2), Secondaries(secondaryNatsClient3),
		Secondaries(secondaryNatsClient4),
		Terciaries(terciaryNatsClient1), Terciaries(terciaryNatsClient2), Terciaries(terciaryNatsClient3),
		Terciaries(terciaryNatsClient4),
		Informers(secondarySharedInformers...), TerciaryInformers(terciarySharedInformers...),
		Externals(secondaryExternalClients...),
	}

	return &ControllerRuntime[TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3,
		TNatsTer4]{
		NewRuntime(name, kind, kubeClientset, primaryNatsClient, resyncInterval, deps...),
	}
}

// DecomposeKubeSecondaryResource returns the object that an event handler received and the key of its owner. If the
// handler missed the deletion, it returns the last known state of the object. The key is empty if the owner is not a
// primary of this kind. It returns an error if obj is not an object, or if its marks are incomplete.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) DecomposeKubeSecondaryResource(obj any) (secondaryResource metav1.Object, primaryKey string, err error) {
	return c.runtime.DecomposeKubeSecondaryResource(obj)
}

// EnqueueKey enqueues a primary. Invalid keys are ignored.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) EnqueueKey(key string, operation Operation) {
	c.runtime.EnqueueKey(key, operation)
}

// EnqueueKeyAfter enqueues a primary after the delay. Invalid keys are ignored.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) EnqueueKeyAfter(key string, operation Operation, delay time.Duration) {
	c.runtime.EnqueueKeyAfter(key, operation, delay)
}

// Event records an event about an object in Kubernetes or about a primary. For a primary, pass the object that
// Reference returns. Without a client of Kubernetes no event is recorded.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Event(object runtime.Object, eventtype string, reason string, message string) {
	c.runtime.Event(object, eventtype, reason, message)
}

// Reference returns the object to pass to Event for a primary.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Reference(key string) runtime.Object {
	return c.runtime.Reference(key)
}

// Run runs the controller until stopCh is closed. If the start fails, Run sends the error on errCh and returns. It
// sends no later errors.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	c.runtime.Run(threadiness, stopCh, errCh)
}

// SetCustomController sets the controller to run. Call it before Run.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetCustomController(customController IController) {
	c.runtime.SetCustomController(customController)
}

// SetOwner marks an object in Kubernetes as a secondary of the primary that SyncHandler has read. See Runtime.SetOwner.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetOwner(obj metav1.Object, primary TNatsPrim) {
	c.runtime.SetOwner(obj, primary)
}

// Owner returns the reference that marks an entity as a secondary of the primary. Add it to Metadata.Owners of the
// entity.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Owner(primary TNatsPrim) store.Owner {
	return c.runtime.Owner(primary)
}

// SetLogger sets the logger for panics, errors of SyncHandler, entries that cannot be decoded and lost primaries. Call
// it before Run. The default is the log of controller-runtime.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetLogger(l logging.Logger) {
	c.runtime.SetLogger(l)
}

// Panics returns the number of panics in the author's code that the runtime has recovered.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) Panics() int {
	return c.runtime.Panics()
}

// SetTerciaryMapping sets the function that maps a changed tertiary to the keys of primaries to enqueue. Call it
// before Run. Without a function a tertiary enqueues no primary.
func (c *ControllerRuntime[
	TNatsPrim, TNatsSec1, TNatsSec2, TNatsSec3, TNatsSec4, TNatsTer1, TNatsTer2, TNatsTer3, TNatsTer4,
]) SetTerciaryMapping(keys func(obj any) []string) {
	c.runtime.SetTerciaryMapping(keys)
}
