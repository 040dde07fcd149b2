package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An extSystem is an external system in memory.
type extSystem struct {
	class class

	// shows is the time after its creation until a resource becomes visible. goes is the time for which it stays visible
	// after its deletion. takes is the time after its creation until it becomes ready.
	shows, goes, takes time.Duration
	// flickers is the time for which a resource is invisible again, once, after it became visible.
	flickers time.Duration

	// backend is the name of the connected backend. Each resource exists in one backend. Clients return the name as their
	// identity unless it is empty.
	backend string
	// lists is true if clients can list.
	lists bool
	// partial is true if lists have items that cannot be used: an incomplete one, and one that is not ready.
	partial bool
	// hangsUp is true if clients have to be disconnected.
	hangsUp bool

	subscribed []*subscription

	resources    []*extResource
	last         int
	changes      int
	created      map[types.UID]int // number of resources by object
	deleted      map[types.UID]int // number of resources by object
	details      string            // in the connection details
	leaksSecrets bool              // errors and diffs contain secrets
	keys         bool              // each resource has a key that only Create returns
}

// A class has the properties of an external system that make a creation safe to repeat.
type class struct {
	name    string
	named   bool          // the caller chooses the name
	token   bool          // a repeated Create with the same token returns the same resource
	finds   time.Duration // what was created can be searched for, and is found after this time; zero: it cannot
	stamped bool          // the system stores the owner with the resource
	blocks  bool          // an interrupted Create needs a human
	options []managed.ReconcilerOption
}

// An extResource is an external resource.
type extResource struct {
	ID      string
	Stamp   types.UID // the owner that the system stores; empty if none
	For     types.UID // the object that it was made for, which only the simulation knows
	Token   string    // of the attempt
	Size    int64
	Parent  string
	Backend string
	Key     string // what only Create returned; empty if nothing

	made    time.Time
	deleted time.Time // zero: it was not
}

// classes has the classes of external systems.
var classes = map[string]class{
	"named": {
		name: "named", named: true, stamped: true,
		options: []managed.ReconcilerOption{managed.WithDeterministicExternalName(true)},
	},
	"token":      {name: "token", token: true, options: []managed.ReconcilerOption{managed.WithCreationTokens()}},
	"findable":   {name: "findable", finds: 10 * time.Second, stamped: true},
	"opaque":     {name: "opaque", blocks: true, options: []managed.ReconcilerOption{managed.WithStrictCreateErrors()}},
	defaultClass: {name: defaultClass, blocks: true},
}

// live returns the resources that were made for an object and not deleted.
func (h *extSystem) live(uid types.UID) []*extResource {
	var out []*extResource
	for _, p := range h.resources {
		if p.For == uid && p.deleted.IsZero() {
			out = append(out, p)
		}
	}

	return out
}

// Connect returns a client of the external system.
func (h *extSystem) Connect(ctx context.Context, _ resource.Managed) (managed.ExternalClient, error) {
	if h.leaksSecrets {
		external.Conceal(ctx, []byte(canaryCredential))
	}
	if h.lists {
		return &listingClient{h.client(), h}, ctx.Err()
	}

	return h.client(), ctx.Err()
}

// An identifyingClient is an extClient that reports its backend.
type identifyingClient struct{ extClient }

// An extClient is a client of the external system.
type extClient struct{ system *extSystem }

// A disconnectingClient is an extClient with the method Disconnect.
type disconnectingClient struct{ extClient }

// A recoveringClient is an extClient that can search for what an attempt created.
type recoveringClient struct{ extClient }

func (h *extSystem) client() managed.ExternalClient {
	p := extClient{h}
	switch {
	case h.class.finds > 0:
		return &recoveringClient{p}
	case h.backend != "":
		return &identifyingClient{p}
	case h.hangsUp:
		return &disconnectingClient{p}
	default:
		return &p
	}
}

// Identity returns the backend.
func (c *identifyingClient) Identity() string { return c.system.backend }

// Disconnect has nothing to close. It fails if the context has ended.
func (c *disconnectingClient) Disconnect(ctx context.Context) error { return ctx.Err() }

func (c *recoveringClient) RecoverCreation(_ context.Context, mg resource.Managed, token string) (bool, error) {
	for _, p := range c.system.resources {
		if p.Token == token && p.deleted.IsZero() && time.Since(p.made) >= c.system.class.finds {
			meta.SetExternalName(mg, p.ID)

			return true, nil
		}
	}

	return false, nil
}

// searchWindow is the recovery window of a client. Its unit is the time after which a search finds a resource.
const searchWindow = 3

func (c *recoveringClient) RecoveryWindow() time.Duration { return searchWindow * c.system.class.finds }

func (c *extClient) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	h := c.system
	p := h.find(meta.GetExternalName(mg))
	if p == nil || !h.visible(p) {
		return managed.ExternalObservation{}, nil
	}

	return h.observe(mg, p)
}

// visible returns whether a resource can be observed.
func (h *extSystem) visible(p *extResource) bool {
	age := time.Since(p.made)
	if h.flickers > 0 && age >= h.shows+2*h.flickers && age < h.shows+3*h.flickers {
		return false
	}

	return age >= h.shows
}

// observe returns the observation of a resource of an object.
func (h *extSystem) observe(mg resource.Managed, p *extResource) (managed.ExternalObservation, error) {
	b, err := bucketOf(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	b.Status.ID, b.Status.Size = p.ID, p.Size
	if time.Since(p.made) < h.takes {
		b.SetConditions(commonv1.Creating())
	} else {
		b.SetConditions(commonv1.Available())
	}
	o := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: p.Size == b.Spec.Size &&
		p.Parent == b.Spec.Parent}
	if p.Size != b.Spec.Size {
		o.Differences = []commonv1.Difference{{
			Path: "size", Desired: strconv.FormatInt(b.Spec.Size, 10), Observed: strconv.FormatInt(p.Size, 10),
		}}
	}
	if !o.ResourceUpToDate && h.leaksSecrets {
		o.Diff = fmt.Sprintf("size %d, not %d, by %s with password=%s", p.Size, b.Spec.Size, canaryCredential, canary)
	}
	if h.details != "" {
		o.ConnectionDetails = managed.ConnectionDetails{"password": []byte(canaryDetail + h.details)}
	}
	if h.class.stamped {
		o.Owner = owner(p.Stamp, mg.GetUID())
	}

	return o, nil
}

// observeListed returns the observation of a resource as it was listed.
func (h *extSystem) observeListed(mg resource.Managed, p *extResource) (managed.ExternalObservation, error) {
	o, err := h.observe(mg, p)
	if h.partial && mg.GetName() == unreadyItem {
		mg.SetConditions(commonv1.Unavailable())
	}

	return o, err
}

func owner(stamp, uid types.UID) managed.Owner {
	switch stamp {
	case "":
		return managed.OwnerNone
	case uid:
		return managed.OwnerOurs
	default:
		return managed.OwnerOther
	}
}

func (c *extClient) Create(ctx context.Context, mg resource.Managed) error {
	h := c.system
	b, err := bucketOf(mg)
	if err != nil {
		return err
	}
	made := extResource{For: mg.GetUID(), Size: b.Spec.Size, Parent: b.Spec.Parent}
	if h.class.stamped {
		made.Stamp = mg.GetUID()
	}
	made.Token = managed.CreationToken(ctx)
	if same := h.byToken(made.Token); same != nil {
		meta.SetExternalName(mg, same.ID)

		return nil
	}
	if h.class.named {
		made.ID = meta.GetExternalName(mg)
		if h.find(made.ID) != nil {
			return external.AlreadyExists(errors.Errorf("there is a resource %s already", made.ID))
		}
	} else {
		h.last++
		made.ID = fmt.Sprintf("bucket-%d", h.last)
	}
	if h.keys {
		made.Key = fmt.Sprintf("%s-key-%d", canaryDetail, h.changes)
	}
	h.add(made)
	h.created[made.For]++
	meta.SetExternalName(mg, made.ID)

	return nil
}

// byToken returns the resource that an earlier Create with the token created, in a class that recognizes tokens.
func (h *extSystem) byToken(token string) *extResource {
	for _, p := range h.resources {
		if h.class.token && token != "" && p.Token == token && p.deleted.IsZero() {
			return p
		}
	}

	return nil
}

// add stores a resource that is made now.
func (h *extSystem) add(p extResource) *extResource {
	p.made, p.Backend = time.Now(), h.backend
	h.resources = append(h.resources, &p)
	h.changes++

	return &p
}

func (c *extClient) Update(_ context.Context, mg resource.Managed) error {
	h := c.system
	b, err := bucketOf(mg)
	if err != nil {
		return err
	}
	p := h.find(meta.GetExternalName(mg))
	if p == nil {
		return errors.New("there is no such resource")
	}
	if p.Parent != b.Spec.Parent {
		return external.Terminal("ParentIsImmutable",
			errors.Errorf("%s cannot be moved from parent %q to %q", p.ID, p.Parent, b.Spec.Parent))
	}
	p.Size = b.Spec.Size
	h.changes++

	return nil
}

func (c *extClient) Delete(_ context.Context, mg resource.Managed) error {
	if p := c.system.find(meta.GetExternalName(mg)); p != nil && p.deleted.IsZero() {
		p.deleted = time.Now()
		c.system.changes++
		c.system.deleted[mg.GetUID()]++
	}

	return nil
}

// MadeFor returns whether the resource with the external name of mg exists, and the UID of the object for which it was
// created.
func (h *extSystem) MadeFor(mg resource.Managed) (types.UID, bool) {
	p := h.find(externalName(mg))
	switch {
	case p == nil:
		return "", false
	case h.class.stamped && p.Stamp == mg.GetUID():
		return p.Stamp, true
	default:
		return p.For, true
	}
}

// Lacks returns the first difference between a bucket and its resource, or "".
func (h *extSystem) Lacks(mg resource.Managed) string {
	p := h.find(externalName(mg))
	b, err := bucketOf(mg)
	switch {
	case err != nil:
		return err.Error()
	case p == nil || !p.deleted.IsZero():
		return "its resource does not exist"
	case p.Parent != b.Spec.Parent:
		return fmt.Sprintf("its resource is at parent %q instead of %q", p.Parent, b.Spec.Parent)
	case p.Size != b.Spec.Size:
		return fmt.Sprintf("its resource has size %d instead of %d", p.Size, b.Spec.Size)
	case b.Status.ID != p.ID || b.Status.Size != p.Size:
		return "its status does not show the resource"
	default:
		return ""
	}
}

// find returns the resource with a name, or nil.
func (h *extSystem) find(id string) *extResource {
	for _, p := range h.resources {
		if p.ID == id && p.Backend == h.backend && !h.gone(p) {
			return p
		}
	}

	return nil
}

// gone returns whether a resource is deleted and not visible any more.
func (h *extSystem) gone(p *extResource) bool {
	return !p.deleted.IsZero() && time.Since(p.deleted) >= h.goes
}

// bucketOf returns an object as a Bucket.
func bucketOf(mg resource.Managed) (*bucket.Bucket, error) {
	switch b := mg.(type) {
	case *bucket.Bucket:
		return b, nil
	case *bucket.Replica:
		return &b.Bucket, nil
	default:
		return nil, errors.Errorf("not a bucket but a %T", mg)
	}
}
