package reference_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A Boat lies at a berth.
type Boat struct {
	fake.Managed

	Berth    string
	BerthRef *commonv1.NamespacedReference
}

// ResolveReferences sets the name of the berth that BerthRef is about.
func (b *Boat) ResolveReferences(ctx context.Context, r client.Reader) error {
	rsp, err := reference.NewAPIResolver(r, b).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: b.Berth,
		Reference:    b.BerthRef,
		To:           reference.To{Managed: &fake.Managed{}},
		Extract:      reference.ExternalName(),
	})
	if err != nil {
		return errors.Wrap(err, "cannot resolve spec.berth")
	}
	b.Berth, b.BerthRef = rsp.ResolvedValue, rsp.ResolvedReference

	return nil
}

// An author's ResolveReferences waits for a referent that is not ready, and has its value in the next pass.
func Example() {
	quay := &fake.Managed{ObjectMeta: metav1.ObjectMeta{Namespace: "port", Name: "quay"}}
	c := test.NewMockClient()
	c.MockGet = func(_ context.Context, _ client.ObjectKey, o client.Object) error {
		*o.(*fake.Managed) = *quay

		return nil
	}

	// A reconciler does this; an author is only given the reader.
	tracker := reference.NewTracker(fake.SchemeWith(&fake.Managed{}))
	boat := &Boat{BerthRef: &commonv1.NamespacedReference{Name: "quay"}}
	boat.SetNamespace("port")
	boat.SetName("boat")
	pass := func() error {
		recorder := tracker.Reader(types.NamespacedName{Namespace: "port", Name: "boat"}, c)
		err := boat.ResolveReferences(context.Background(), recorder)
		recorder.Done(err)

		return err
	}

	err := pass()
	fmt.Println(err)
	fmt.Println(reference.IsWaiting(err))

	meta.SetExternalName(quay, "quay-7")
	fmt.Println(pass(), boat.Berth)
	// Output:
	// cannot resolve spec.berth: waiting for Managed "port/quay": its external name, or the field that is referred to, is still empty
	// true
	// <nil> quay-7
}
