package conformance

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A wreck is a client of a diskService with one defect. A nil function is the correct one.
type wreck struct {
	*diskClient

	connect func(context.Context, *diskClient) error
	observe func(context.Context, *diskClient, *volume.Volume) (managed.ExternalObservation, error)
	create  func(context.Context, *diskClient, *volume.Volume) error
	update  func(context.Context, *diskClient, *volume.Volume) error
	remove  func(context.Context, *diskClient, *volume.Volume) error
}

// restless returns an Observe that writes something else to the status at each second call.
func restless() func(context.Context, *diskClient, *volume.Volume) (managed.ExternalObservation, error) {
	n := &atomic.Int64{}

	return func(ctx context.Context, p *diskClient, v *volume.Volume) (managed.ExternalObservation, error) {
		o, err := p.Observe(ctx, v)
		v.Status.UsedBytes = n.Add(1) / 2

		return o, err
	}
}

// removesByPrefix removes each disk whose name begins with that of an object.
func removesByPrefix(ctx context.Context, p *diskClient, v *volume.Volume) error {
	err := p.change(ctx, func() {
		for id := range p.disks {
			if strings.HasPrefix(id, meta.GetExternalName(v)) {
				delete(p.disks, id)
			}
		}
	})
	if errors.Is(err, errBroken) {
		return errors.New("cannot delete")
	}

	return err
}

func (w *wreck) Connect(ctx context.Context, _ resource.Managed) (managed.ExternalClient, error) {
	if w.connect != nil {
		return w, w.connect(ctx, w.diskClient)
	}

	return w, nil
}

func (w *wreck) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if w.observe != nil {
		return w.observe(ctx, w.diskClient, mg.(*volume.Volume)) // of the kind
	}

	return w.diskClient.Observe(ctx, mg)
}

func (w *wreck) Create(ctx context.Context, mg resource.Managed) error {
	if w.create != nil {
		return w.create(ctx, w.diskClient, mg.(*volume.Volume)) // of the kind
	}

	return w.diskClient.Create(ctx, mg)
}

func (w *wreck) Update(ctx context.Context, mg resource.Managed) error {
	if w.update != nil {
		return w.update(ctx, w.diskClient, mg.(*volume.Volume)) // of the kind
	}

	return w.diskClient.Update(ctx, mg)
}

func (w *wreck) Delete(ctx context.Context, mg resource.Managed) error {
	if w.remove != nil {
		return w.remove(ctx, w.diskClient, mg.(*volume.Volume)) // of the kind
	}

	return w.diskClient.Delete(ctx, mg)
}

// A searching is a wreck that recovers resources of any owner.
type searching struct{ *wreck }

func (s searching) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return s, nil
}

func (s searching) RecoverCreation(ctx context.Context, mg resource.Managed, _ string) (bool, error) {
	found := false
	err := s.change(ctx, func() {
		for id := range s.disks {
			found = true
			meta.SetExternalName(mg, id)
		}
	})

	return found, err
}

func (s searching) RecoveryWindow() time.Duration { return time.Second }

type defect struct {
	reason   string
	class    Class
	unowned  bool // the client reports no owners
	wreck    wreck
	searches bool
	property string
	says     string // part of the sentence
}

var defects = map[string]defect{
	"ForgetsName": {
		reason: "what was assigned is not told", class: Token, property: "created-is-seen",
		says: "left no external name",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return p.Create(ctx, v.DeepCopyObject().(*volume.Volume))
		}},
	},
	"CreatesUnderAnotherName": {
		reason: "the name that the system knows is not the external name", class: Token, property: "created-is-seen",
		says: `If "disk-1" is its name in the external system, Create has to set the external name to it`,
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			err := p.Create(ctx, v)
			meta.SetExternalName(v, "another")

			return err
		}},
	},
	"ReplacesWhatIsThere": {
		reason: "what has the name is deleted and made anew", class: Named, property: "strangers-are-left-alone",
		says: "Create of another object changed vol, which was made for another object, vol",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(ctx, v); !external.IsAlreadyExists(err) {
				return err
			}
			if err := p.Delete(ctx, v); err != nil {
				return err
			}

			return p.Create(ctx, v)
		}},
	},
	"DropsErrorsOfCreate": {
		reason: "nobody hears that nothing was created", class: Named, property: "refused-is-told",
		says: "Create of another object returns no error: return the error of each request",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(ctx, v); external.IsAlreadyExists(err) {
				return err
			}

			return nil
		}},
	},
	"CreatesNothing": {
		reason: "Create says that all is well", class: Named, property: "created-is-seen",
		says:  "neither Observe nor the probe",
		wreck: wreck{create: func(context.Context, *diskClient, *volume.Volume) error { return nil }},
	},
	"PublishesTheCredentialsOfTheProvider": {
		reason: "each user of one disk is administrator of all", class: Named, property: "secrets-are-kept",
		says: `the connection detail "uri" of vol shows one`,
		wreck: wreck{observe: func(
			ctx context.Context, p *diskClient, v *volume.Volume,
		) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			o.ConnectionDetails = managed.ConnectionDetails{"uri": []byte("disk://admin:hunter2@disks")}

			return o, err
		}},
	},
	"IgnoresItsStamp": {
		reason: "the stamp is stored, and not compared", class: Named, unowned: true, property: "owner-is-told",
		says: "the field stamp of the resource of vol has the stamp of the object, and Observe reports no owner",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(ctx, v); err != nil {
				return err
			}

			return p.change(ctx, func() {
				of := schema.GroupVersionKind(volume.Kind).GroupKind()
				p.disks[meta.GetExternalName(v)].stamp = string(managed.NewStamp("cluster", of, v))
			})
		}},
	},
	"CreatesTwo": {
		reason: "Create makes two", class: Token, property: "at-most-one", says: "made 2 resources",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			_ = p.change(ctx, func() { p.put(disk{}) })

			return p.Create(ctx, v)
		}},
	},
	"AdoptsWhatIsThere": {
		reason: "a name that is taken is taken over", class: Named, property: "class-is-kept",
		says: "Create of another object",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			err := p.Create(ctx, v)
			if external.IsAlreadyExists(err) {
				return p.change(ctx, func() { p.disks[v.Name].stamp = string(v.UID) })
			}

			return err
		}},
	},
	"OwnsAll": {
		reason: "whatever exists is said to be ours", class: Named, property: "owner-is-told", says: "is its own",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			if o.ResourceExists {
				o.Owner = managed.OwnerOurs
			}

			return o, err
		}},
	},
	"OwnsNothing": {
		reason: "what it created is said to be nobody's", class: Token, property: "owner-is-told",
		says: "owned by nobody",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			if o.ResourceExists {
				o.Owner = managed.OwnerNone
			}

			return o, err
		}},
	},
	"CreatesInObserve": {
		reason: "what is missing is made at once", class: Named, property: "observe-never-writes",
		says: "Observe of vol created vol",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			if err == nil && !o.ResourceExists && v.DeletionTimestamp == nil {
				_ = p.Create(ctx, v)

				return p.Observe(ctx, v)
			}

			return o, err
		}},
	},
	"WritesInObserve": {
		reason: "a difference is corrected at once", class: Named, property: "observe-never-writes",
		says: "Observe of another object changed vol",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			if o, err := p.Observe(ctx, v); err != nil || !o.ResourceExists || o.ResourceUpToDate {
				return o, err
			}
			_ = p.Update(ctx, v)

			return p.Observe(ctx, v)
		}},
	},
	"DeletesByPrefix": {
		reason: "what begins alike goes, too", class: Named, property: "strangers-are-left-alone", says: "vol-2",
		wreck: wreck{remove: removesByPrefix},
	},
	"NotFoundOnErrors": {
		reason: "an error is taken for absence", class: Named, property: "unknown-is-not-absent",
		says: "with a context that has ended",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, _ := p.Observe(ctx, v)

			return o, nil
		}},
	},
	"NotFoundWhenBroken": {
		reason: "an error of the system is taken for absence", class: Named, property: "unknown-is-not-absent",
		says: "while the external system is broken",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			if ctx.Err() == nil {
				err = nil
			}

			return o, err
		}},
	},
	"NotFoundIsAnError": {
		reason: "absence is an error", class: Named, property: "absent-is-no-error", says: "there is no such disk",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			if _, err := p.get(ctx, meta.GetExternalName(v)); err != nil {
				return managed.ExternalObservation{}, err
			}

			return p.Observe(ctx, v)
		}},
	},
	"DeleteOfNothingFails": {
		reason: "what is gone cannot be deleted", class: Token, property: "delete-is-idempotent",
		says: "a second Delete",
		wreck: wreck{remove: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if _, err := p.get(ctx, meta.GetExternalName(v)); err != nil {
				return err
			}

			return p.Delete(ctx, v)
		}},
	},
	"DeletesNothing": {
		reason: "Delete does nothing", class: Token, property: "deleted-is-gone", says: "exists=true",
		wreck: wreck{remove: func(context.Context, *diskClient, *volume.Volume) error { return nil }},
	},
	"UpdateDoesNothing": {
		reason: "Update never converges", class: Named, property: "update-converges",
		says: `which was changed by grow, says that its resource is not up to date. By the probe, size of its resource ` +
			`"vol" is "10" instead of "20"`,
		wreck: wreck{update: func(ctx context.Context, p *diskClient, v *volume.Volume) error { return ctx.Err() }},
	},
	"ComparesNothing": {
		reason: "Observe sees no difference", class: Named, unowned: true, property: "update-converges",
		says: "up to date before it was updated",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			o.ResourceUpToDate = o.ResourceExists

			return o, err
		}},
	},
	"UpdateAdds": {
		reason: "each Update adds something", class: Named, property: "update-is-idempotent",
		says: `a second Update of vol changed something: size of "log" was`,
		wreck: wreck{update: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Update(ctx, v); err != nil {
				return err
			}

			return p.change(ctx, func() {
				p.disks[meta.GetExternalName(v)].tier += "+"
				p.disks[meta.GetExternalName(v)].tier = v.Spec.Tier
				p.last++
				p.put(disk{id: "log"})
				p.disks["log"].size = int64(p.last)
			})
		}},
	},
	"TriesImmutable": {
		reason: "the system is asked for what it cannot do", class: Named, property: "immutable-is-refused",
		says: "changed the external system",
		wreck: wreck{update: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			_ = p.change(ctx, func() { p.disks[meta.GetExternalName(v)].size++ })
			err := p.Update(ctx, v)
			if err == nil {
				return p.change(ctx, func() { p.disks[meta.GetExternalName(v)].size = v.Spec.SizeGiB })
			}

			return err
		}},
	},
	"PassesOverImmutable": {
		reason: "what cannot be changed is not compared", class: Named, property: "immutable-is-refused",
		says: "passed over",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			x, err := p.get(ctx, meta.GetExternalName(v))
			if err != nil {
				return p.Observe(ctx, v)
			}
			o, err := p.Observe(ctx, v)
			o.ResourceUpToDate = x.size == v.Spec.SizeGiB && o.Owner == managed.OwnerOurs

			return o, err
		}},
	},
	"TimeoutIsRefusal": {
		reason: "that no answer came is taken for a refusal", class: Opaque, property: "refusal-is-true",
		says: "while no answer of the external system comes",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(ctx, v); err != nil {
				return external.NotCreated(err)
			}

			return nil
		}},
	},
	"HidesALostAnswer": {
		reason: "that no answer came is told in words alone", class: Opaque, property: "create-errors-tell",
		says: "while no answer of the external system comes, Create of vol",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(ctx, v); err != nil {
				return errors.Errorf("cannot create: %v", err)
			}

			return nil
		}},
	},
	"RefusesTooLate": {
		reason: "it looks at its context when all is done", class: Opaque, property: "refusal-is-true",
		says: "with a context that has ended",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(context.WithoutCancel(ctx), v); err != nil {
				return err
			}

			return external.NotCreated(ctx.Err())
		}},
	},
	"RefusesWhatItMade": {
		reason: "what follows the creation fails, in a story", class: Opaque, property: "refusal-is-true",
		says: "Create of vol made",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			if err := p.Create(ctx, v); err != nil || p.last < 10 {
				return err
			}

			return external.NotCreated(errors.New("cannot name what was made"))
		}},
	},
	"NotNamed": {
		reason: "it claims to be Named, and the system assigns names", class: Named, property: "class-is-kept",
		says: "replaced the external name",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return p.change(ctx, func() {
				meta.SetExternalName(v, p.put(disk{size: v.Spec.SizeGiB, tier: v.Spec.Tier, stamp: string(v.UID)}))
			})
		}},
	},
	"NotToken": {
		reason: "it claims to be Token, and each Create makes another", class: Token, property: "class-is-kept",
		says: "with the same token",
		wreck: wreck{create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			return p.change(ctx, func() {
				meta.SetExternalName(v, p.put(disk{size: v.Spec.SizeGiB, tier: v.Spec.Tier, stamp: string(v.UID)}))
			})
		}},
	},
	"NotFindable": {
		reason: "it claims to be Findable, and cannot search", class: Findable, property: "class-is-kept",
		says: "no managed.CreationRecoverer",
	},
	"RecoversAnothers": {
		reason: "it finds what others created", class: Findable, searches: true, property: "class-is-kept",
		says: "token that nothing was created with",
	},
	"LeaksCredentials": {
		reason: "the text of an error has the password", class: Named, property: "secrets-are-kept",
		says: "<secret>. Pass the secret to external.Conceal",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			if _, err := p.get(ctx, meta.GetExternalName(v)); err != nil && !errors.Is(err, errNoDisk) {
				return managed.ExternalObservation{}, errors.Wrap(errBroken, "cannot look")
			}

			return p.Observe(ctx, v)
		}},
	},
	"ShowsSecret": {
		reason: "the password is in the status", class: Named, property: "secrets-are-kept", says: "as it is stored",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			v.Status.ID = "hunter2"

			return o, err
		}},
	},
	"NeverReady": {
		reason: "nobody says that it can be used", class: Named, property: "converges", says: "not ready",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			copied := v.DeepCopyObject().(*volume.Volume)

			return p.Observe(ctx, copied)
		}},
	},
	"Restless": {
		reason: "the status is another each second time", class: Named, property: "quiet",
		says:  "writes although nothing changed: one of 1 changed status.usedBytes of vol from",
		wreck: wreck{observe: restless()},
	},
	"Unsure": {
		reason: "it says this and then that", class: Named, property: "observe-is-stable",
		says: "and at once after that",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			p.last++
			o.ResourceUpToDate = o.ResourceUpToDate && p.last%2 == 0

			return o, err
		}},
	},
	"Panics": {
		reason: "a call panics", class: Named, property: "calls-return",
		says:  "Create of vol does not return: it panics: no volume",
		wreck: wreck{create: func(context.Context, *diskClient, *volume.Volume) error { panic("no volume") }},
	},
	"IgnoresContext": {
		reason: "a call never ends", class: Named, property: "calls-return", says: "has to end when its context does",
		wreck: wreck{update: func(context.Context, *diskClient, *volume.Volume) error { select {} }},
	},
	"ConnectNeverReturns": {
		reason: "not even Connect ends", class: Named, property: "calls-return", says: "Connect of vol",
		wreck: wreck{connect: func(context.Context, *diskClient) error { select {} }},
	},
	"ConnectFails": {
		reason: "there is no connection", class: Named, property: "connects", says: "no route",
		wreck: wreck{connect: func(context.Context, *diskClient) error { return errors.New("no route") }},
	},
	"UnseenOnceDeleted": {
		reason: "what its user has deleted is said not to exist", class: Named, property: "nothing-is-left",
		says: "its resource",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			if meta.WasDeleted(v) {
				return managed.ExternalObservation{}, nil
			}

			return p.Observe(ctx, v)
		}},
	},
	"HangsOnceBroken": {
		reason: "a call never ends while the system is away", class: Named, property: "calls-return",
		says: "Observe of vol",
		wreck: wreck{observe: func(ctx context.Context, p *diskClient,
			v *volume.Volume) (managed.ExternalObservation, error) {
			if _, err := p.get(ctx, ""); errors.Is(err, errBroken) {
				select {}
			}

			return p.Observe(ctx, v)
		}},
	},
}

// soon is the number of schedules within which a defect must be found: those without faults. Their
// duration depends on the machine.
const soon = 40

// TestDefects: each defect is found soon, by the name of the property that it breaks.
func TestDefects(t *testing.T) {
	for name, c := range defects {
		t.Run(name, func(t *testing.T) { c.find(t) })
	}
}

// suite returns the suite of a client with the defect.
func (c defect) suite() Suite {
	d := newDiskService(c.class)
	d.stamped = !c.unowned
	w := c.wreck
	w.diskClient = &diskClient{d}
	s := d.suite(&w)
	if c.searches {
		s = d.suite(searching{&w})
	}
	if c.property == "calls-return" {
		s.CallTimeout = 500 * time.Millisecond
	}

	return s
}

// find checks that a suite finds the defect.
func (c defect) find(t *testing.T) {
	t.Helper()
	k := examine(t, c.suite())
	if !k.findings.says(c.property, c.says) {
		t.Errorf("%s: %s is not found to be broken with %q, but %v", c.reason, c.property, c.says, k.findings.list)
	}
	if k.schedulesRun > soon {
		t.Errorf("%s: it took %d schedules to find out", c.reason, k.schedulesRun)
	}
}
