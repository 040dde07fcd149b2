package sim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// A harbour is an external system in memory.
type harbour struct {
	class class

	// Places shows after a while what was created, and what was deleted until a
	// while has passed; what was created takes a while to become ready.
	shows, goes, takes time.Duration
	// Flickers is for how long after it was first shown a place is not found again.
	flickers time.Duration

	// System is which of several harbours is connected to: what is in one is not
	// in the others. Clients tell it if there is one.
	system string
	// Lists says that clients can list.
	lists bool
	// HangsUp says that clients want to be disconnected.
	hangsUp bool

	subscribed []*subscription

	places  []*place
	last    int
	changes int
	created map[types.UID]int // how often, for each object
	deleted map[types.UID]int // how often, for each object
	details string            // are in the connection details
	talks   bool              // it says what it should keep to itself
	keys    bool              // each place has a key, which only its Create tells
}

// A place is an external resource.
type place struct {
	ID     string
	Stamp  types.UID // what the system stores of its owner; empty if nothing
	For    types.UID // what only we know: the object that it was made for
	Token  string    // of the attempt
	Length int64
	Quay   string
	System string
	Key    string // what only its Create told; empty if there is no such thing

	made    time.Time
	deleted time.Time // zero: it was not
}

// A class says what makes a creation safe to repeat.
type class struct {
	name    string
	named   bool          // the caller chooses the name
	token   bool          // a create is known again by its token
	finds   time.Duration // what was created can be looked for, and is found after so long
	stamped bool          // the owner is stored with the resource
	blocks  bool          // an interrupted create cannot be resolved without a human
	options []managed.ReconcilerOption
}

func (h *harbour) at(id string) *place {
	for _, p := range h.places {
		if p.ID == id && p.System == h.system && !h.gone(p) {
			return p
		}
	}

	return nil
}

func (h *harbour) gone(p *place) bool {
	return !p.deleted.IsZero() && time.Since(p.deleted) >= h.goes
}

// live returns the places that were not deleted and were made for an object.
func (h *harbour) live(uid types.UID) []*place {
	var out []*place
	for _, p := range h.places {
		if p.For == uid && p.deleted.IsZero() {
			out = append(out, p)
		}
	}

	return out
}

func (h *harbour) visible(p *place) bool {
	age := time.Since(p.made)
	if h.flickers > 0 && age >= h.shows+2*h.flickers && age < h.shows+3*h.flickers {
		return false
	}

	return age >= h.shows
}

func (h *harbour) put(p place) *place {
	p.made, p.System = time.Now(), h.system
	h.places = append(h.places, &p)
	h.changes++

	return &p
}

// Connect returns a client.
func (h *harbour) Connect(ctx context.Context, _ resource.Managed) (managed.ExternalClient, error) {
	if h.talks {
		external.Conceal(ctx, []byte(canaryCredential))
	}
	if h.lists {
		return &registrar{h.client(), h}, ctx.Err()
	}

	return h.client(), ctx.Err()
}

func (h *harbour) client() managed.ExternalClient {
	p := pilot{h}
	switch {
	case h.class.finds > 0:
		return &searcher{p}
	case h.system != "":
		return &native{p}
	case h.hangsUp:
		return &guest{p}
	default:
		return &p
	}
}

// A native is a pilot that tells where he is.
type native struct{ pilot }

// Identity of the harbour.
func (c *native) Identity() string { return c.harbour.system }

// A guest is a pilot that leaves when he has done his work.
type guest struct{ pilot }

// Disconnect says farewell.
func (c *guest) Disconnect(ctx context.Context) error { return ctx.Err() }

// A searcher is a pilot that can look for what an attempt created.
type searcher struct{ pilot }

func (c *searcher) RecoverCreation(_ context.Context, mg resource.Managed, token string) (bool, error) {
	for _, p := range c.harbour.places {
		if p.Token == token && p.deleted.IsZero() && time.Since(p.made) >= c.harbour.class.finds {
			meta.SetExternalName(mg, p.ID)

			return true, nil
		}
	}

	return false, nil
}

// What is not found after so many times the time that it takes to be found is not there.
const searchWindow = 3

func (c *searcher) RecoveryWindow() time.Duration { return searchWindow * c.harbour.class.finds }

// A pilot is a client of the harbour.
type pilot struct{ harbour *harbour }

func (c *pilot) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	h := c.harbour
	p := h.at(meta.GetExternalName(mg))
	if p == nil || !h.visible(p) {
		return managed.ExternalObservation{}, nil
	}

	return h.tell(mg, p)
}

// tell what there is to know of an object's place.
func (h *harbour) tell(mg resource.Managed, p *place) (managed.ExternalObservation, error) {
	b, err := berthOf(mg)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	b.Status.ID, b.Status.Length = p.ID, p.Length
	if time.Since(p.made) < h.takes {
		b.SetConditions(commonv1.Creating())
	} else {
		b.SetConditions(commonv1.Available())
	}
	o := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: p.Length == b.Spec.Length && p.Quay == b.Spec.Quay}
	if !o.ResourceUpToDate && h.talks {
		o.Diff = fmt.Sprintf("length %d, not %d, by %s with password=%s", p.Length, b.Spec.Length, canaryCredential, canary)
	}
	if h.details != "" {
		o.ConnectionDetails = managed.ConnectionDetails{"password": []byte(canaryDetail + h.details)}
	}
	if h.class.stamped {
		o.Owner = owner(p.Stamp, mg.GetUID())
	}

	return o, nil
}

func owner(stamp, uid types.UID) managed.Owner {
	switch stamp {
	case "":
		return managed.OwnerNobody
	case uid:
		return managed.OwnerOurs
	default:
		return managed.OwnerOther
	}
}

func (c *pilot) Create(ctx context.Context, mg resource.Managed) error {
	h := c.harbour
	b, err := berthOf(mg)
	if err != nil {
		return err
	}
	made := place{For: mg.GetUID(), Length: b.Spec.Length, Quay: b.Spec.Quay}
	if h.class.stamped {
		made.Stamp = mg.GetUID()
	}
	made.Token = managed.CreationToken(ctx)
	if same := h.same(made.Token); same != nil {
		meta.SetExternalName(mg, same.ID)

		return nil
	}
	if h.class.named {
		made.ID = meta.GetExternalName(mg)
		if h.at(made.ID) != nil {
			return external.AlreadyExists(errors.Errorf("there is a place %s already", made.ID))
		}
	} else {
		h.last++
		made.ID = fmt.Sprintf("place-%d", h.last)
	}
	if h.keys {
		made.Key = fmt.Sprintf("%s-key-%d", canaryDetail, h.changes)
	}
	h.put(made)
	h.created[made.For]++
	meta.SetExternalName(mg, made.ID)

	return nil
}

// same returns what was created with a token, where tokens are known again and one was
// given.
func (h *harbour) same(token string) *place {
	for _, p := range h.places {
		if h.class.token && token != "" && p.Token == token && p.deleted.IsZero() {
			return p
		}
	}

	return nil
}

func (c *pilot) Update(_ context.Context, mg resource.Managed) error {
	h := c.harbour
	b, err := berthOf(mg)
	if err != nil {
		return err
	}
	p := h.at(meta.GetExternalName(mg))
	if p == nil {
		return errors.New("there is no such place")
	}
	if p.Quay != b.Spec.Quay {
		return external.Terminal("QuayIsImmutable", errors.Errorf("%s cannot be towed from quay %q to %q", p.ID, p.Quay, b.Spec.Quay))
	}
	p.Length = b.Spec.Length
	h.changes++

	return nil
}

func (c *pilot) Delete(_ context.Context, mg resource.Managed) error {
	if p := c.harbour.at(meta.GetExternalName(mg)); p != nil && p.deleted.IsZero() {
		p.deleted = time.Now()
		c.harbour.changes++
		c.harbour.deleted[mg.GetUID()]++
	}

	return nil
}

func berthOf(mg resource.Managed) (*berth.Berth, error) {
	switch b := mg.(type) {
	case *berth.Berth:
		return b, nil
	case *berth.Tender:
		return &b.Berth, nil
	default:
		return nil, errors.Errorf("not a berth but a %T", mg)
	}
}

// MadeFor returns whose the place is that mg has.
func (h *harbour) MadeFor(mg resource.Managed) (types.UID, bool) {
	p := h.at(externalName(mg))
	switch {
	case p == nil:
		return "", false
	case h.class.stamped && p.Stamp == mg.GetUID():
		return p.Stamp, true
	default:
		return p.For, true
	}
}

// Lacks says what a berth lacks.
func (h *harbour) Lacks(mg resource.Managed) string {
	p := h.at(externalName(mg))
	b, err := berthOf(mg)
	switch {
	case err != nil:
		return err.Error()
	case p == nil || !p.deleted.IsZero():
		return "its resource does not exist"
	case p.Quay != b.Spec.Quay:
		return fmt.Sprintf("its resource is at quay %q instead of %q", p.Quay, b.Spec.Quay)
	case p.Length != b.Spec.Length:
		return fmt.Sprintf("its resource has length %d instead of %d", p.Length, b.Spec.Length)
	case b.Status.ID != p.ID || b.Status.Length != p.Length:
		return "its status does not show the resource"
	default:
		return ""
	}
}
