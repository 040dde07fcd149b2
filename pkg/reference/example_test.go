package reference_test

import (
	"context"
	"fmt"
	"strings"

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

// An Instance uses a disk.
type Instance struct {
	fake.Managed

	Disk    string
	DiskRef *commonv1.NamespacedReference
}

// ResolveReferences sets the name of the disk that DiskRef refers to.
func (b *Instance) ResolveReferences(ctx context.Context, r client.Reader) error {
	rsp, err := reference.NewAPIResolver(r, b).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: b.Disk,
		Reference:    b.DiskRef,
		To:           reference.To{Managed: &fake.Managed{}},
		Extract:      reference.ExternalName(),
	})
	if err != nil {
		return errors.Wrap(err, "cannot resolve spec.disk")
	}
	b.Disk, b.DiskRef = rsp.ResolvedValue, rsp.ResolvedReference

	return nil
}

// An author's ResolveReferences waits for a referent that is not ready, and has its value in the next pass.
func Example() {
	main := &fake.Managed{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "main"}}
	c := test.NewMockClient()
	c.MockGet = func(_ context.Context, _ client.ObjectKey, o client.Object) error {
		*o.(*fake.Managed) = *main

		return nil
	}

	// The reconciler does this; ResolveReferences only gets the reader.
	tracker := reference.NewTracker(fake.SchemeWith(&fake.Managed{}))
	instance := &Instance{DiskRef: &commonv1.NamespacedReference{Name: "main"}}
	instance.SetNamespace("apps")
	instance.SetName("instance")
	pass := func() error {
		recorder := tracker.Reader(types.NamespacedName{Namespace: "apps", Name: "instance"}, c)
		err := instance.ResolveReferences(context.Background(), recorder)
		recorder.Done(err)

		return err
	}

	err := pass()
	fmt.Println(strings.ReplaceAll(err.Error(), ": ", ":\n  "))
	fmt.Println(reference.IsWaiting(err))

	meta.SetExternalName(main, "main-7")
	fmt.Println(pass(), instance.Disk)
	// Output:
	// cannot resolve spec.disk:
	//   waiting for Managed "apps/main":
	//   its external name, or the field that is referred to, is still empty
	// true
	// <nil> main-7
}
