package conformance

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A diskService is an external system in memory that stores volumes, with an optional delay.
type diskService struct {
	class   Class
	stamped bool
	shows   time.Duration // the delay until a created disk can be read

	mu     sync.Mutex
	disks  map[string]*disk
	last   int
	broken bool
	silent bool   // it serves the request, and the connection breaks before the response
	page   page   // it replaces the response, unless it is 0
	hidden string // the disk that reads do not find
}

type disk struct {
	id, stamp, token, tier string
	size                   int64
	made                   time.Time
}

// A page is the status of a page that replaces a response of the diskService. Its error text is that of a program that
// expected JSON.
type page int

func (p page) Error() string { return fmt.Sprintf("%d: invalid character '<'", int(p)) }

var (
	errBroken = errors.New("the diskService is broken, password=hunter2")
	errSilent = errors.Wrap(io.ErrUnexpectedEOF, "the line is dead")
	errNoDisk = errors.New("there is no such disk")
)

func newDiskService(c Class) *diskService { return &diskService{class: c, disks: map[string]*disk{}} }

func (d *diskService) get(ctx context.Context, id string) (*disk, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return nil, errBroken
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.page != 0 {
		return nil, d.page
	}
	if x := d.disks[id]; x != nil && id != d.hidden && time.Since(x.made) >= d.shows {
		out := *x

		return &out, nil
	}

	return nil, errNoDisk
}

func (d *diskService) change(ctx context.Context, do func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return errBroken
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.page != 0 {
		return d.page
	}
	do()
	if d.silent {
		return errSilent
	}

	return nil
}

func (d *diskService) put(x disk) string {
	if x.id == "" {
		d.last++
		x.id = "disk-" + strconv.Itoa(d.last)
	}
	x.made = time.Now()
	d.disks[x.id] = &x

	return x.id
}

// List returns all disks.
func (d *diskService) List(context.Context) ([]Resource, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Resource
	for _, x := range d.disks {
		out = append(out, Resource{
			ID:    x.id,
			State: map[string]string{"size": strconv.FormatInt(x.size, 10), "tier": x.tier, "stamp": x.stamp},
		})
	}

	return out, nil
}

// Remove a disk.
func (d *diskService) Remove(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.disks, id)

	return nil
}

// Make creates a disk without an owner.
func (d *diskService) Make(_ context.Context, mg resource.Managed) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := mg.(*volume.Volume) // of the kind

	return d.put(disk{id: meta.GetExternalName(mg), size: v.Spec.SizeGiB, tier: v.Spec.Tier}), nil
}

// Drift makes a disk larger.
func (d *diskService) Drift(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.disks[id].size += 1000

	return nil
}

// Break the diskService.
func (d *diskService) Break(context.Context) (func(context.Context) error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = true

	return func(context.Context) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.broken = false

		return nil
	}, nil
}

// Silence the diskService.
func (d *diskService) Silence(context.Context) (func(context.Context) error, error) {
	return func(context.Context) error { return d.hush(false) }, d.hush(true)
}

func (d *diskService) hush(silent bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent = silent

	return nil
}

// Misroute makes a page replace all responses.
func (d *diskService) Misroute(_ context.Context, status int) (func(context.Context) error, error) {
	return func(context.Context) error { return d.turn(0) }, d.turn(page(status))
}

func (d *diskService) turn(to page) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.page = to

	return nil
}

// Hide makes reads of a disk report that it does not exist.
func (d *diskService) Hide(_ context.Context, id string) (func(context.Context) error, error) {
	return func(context.Context) error { return d.hide("") }, d.hide(id)
}

func (d *diskService) hide(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hidden = id

	return nil
}

// A diskClient is a correct client of a diskService.
type diskClient struct{ *diskService }

func (p *diskClient) Connect(ctx context.Context, _ resource.Managed) (managed.ExternalClient, error) {
	if p.class == Findable {
		return &searcher{p}, ctx.Err()
	}

	return p, ctx.Err()
}

func (p *diskClient) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	v := mg.(*volume.Volume) // of the kind
	x, err := p.get(ctx, meta.GetExternalName(mg))
	switch {
	case errors.Is(err, errNoDisk):
		return managed.ExternalObservation{}, nil
	case err != nil:
		return managed.ExternalObservation{}, errors.New("cannot look")
	}
	v.Status.ID, v.Status.SizeGiB = x.id, x.size
	v.SetConditions(commonv1.Available())
	o := managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: x.size == v.Spec.SizeGiB && x.tier == v.Spec.Tier,
	}
	if p.stamped {
		o.Owner = managed.Stamp(mg.GetUID()).Owner(x.stamp)
		o.ResourceUpToDate = o.ResourceUpToDate && o.Owner == managed.OwnerOurs
	}

	return o, nil
}

func (p *diskClient) Create(ctx context.Context, mg resource.Managed) error {
	v := mg.(*volume.Volume) // of the kind
	x := disk{size: v.Spec.SizeGiB, tier: v.Spec.Tier, token: managed.CreationToken(ctx)}
	if p.stamped {
		x.stamp = string(mg.GetUID())
	}
	taken := false
	err := p.change(ctx, func() {
		if p.class == Named {
			x.id = meta.GetExternalName(mg)
			_, taken = p.disks[x.id]
		}
		for _, same := range p.disks {
			if p.class == Token && same.token == x.token {
				x.id = same.id

				return
			}
		}
		if !taken {
			x.id = p.put(x)
		}
	})
	switch {
	case errors.Is(err, errBroken):
		return external.NotCreated(errors.New("cannot create"))
	case err != nil:
		return errors.Wrap(err, "cannot create")
	case taken:
		return external.AlreadyExists(errors.New("the name is taken"))
	}
	meta.SetExternalName(mg, x.id)

	return nil
}

func (p *diskClient) Update(ctx context.Context, mg resource.Managed) error {
	v := mg.(*volume.Volume) // of the kind
	x, err := p.get(ctx, meta.GetExternalName(mg))
	if err != nil {
		return errors.New("cannot look")
	}
	if x.tier != v.Spec.Tier {
		return external.Terminal("Immutable", errors.New("the tier cannot be changed"))
	}
	if err := p.change(ctx, func() {
		have := p.disks[meta.GetExternalName(mg)]
		have.size = v.Spec.SizeGiB
		if p.stamped {
			have.stamp = string(mg.GetUID())
		}
	}); err != nil {
		return errors.New("cannot update")
	}

	return nil
}

func (p *diskClient) Delete(ctx context.Context, mg resource.Managed) error {
	if err := p.change(ctx, func() { delete(p.disks, meta.GetExternalName(mg)) }); err != nil {
		return errors.New("cannot delete")
	}

	return nil
}

// A searcher is a client that can recover creations.
type searcher struct{ *diskClient }

func (s *searcher) RecoverCreation(ctx context.Context, mg resource.Managed, token string) (bool, error) {
	found := false
	err := s.change(ctx, func() {
		for _, x := range s.disks {
			if x.token == token {
				found = true
				meta.SetExternalName(mg, x.id)
			}
		}
	})

	return found, err
}

func (s *searcher) RecoveryWindow() time.Duration { return time.Second }

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := volume.AddToScheme(s); err != nil {
		panic(err)
	}

	return s
}

func sample(name string) *volume.Volume {
	return &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       volume.Spec{SizeGiB: 10, Tier: "fast"},
	}
}

// suite returns the suite of a diskService and a connecter.
func (d *diskService) suite(connecter managed.ExternalConnecter) Suite {
	return Suite{
		Kind: volume.Kind, Scheme: scheme(), Connecter: connecter, Class: d.class,
		Samples: []resource.Managed{sample("vol"), sample("vol-2")},
		Mutations: []Mutation{
			{
				Name:   "grow",
				Change: func(mg resource.Managed) { mg.(*volume.Volume).Spec.SizeGiB = 20 },
				Want:   map[string]string{"size": fmt.Sprint(20)},
			},
			{
				Name:      "tier",
				Change:    func(mg resource.Managed) { mg.(*volume.Volume).Spec.Tier = "slow" },
				Immutable: true,
			},
		},
		Probe: d, Secrets: []string{"hunter2"}, Patience: 50 * time.Millisecond, CallTimeout: 10 * time.Second,
	}
}
