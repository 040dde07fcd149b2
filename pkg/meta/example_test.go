package meta_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/meta"
)

func Example() {
	o := &metav1.ObjectMeta{Annotations: map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan}}

	fmt.Println("create:", meta.ShouldCreate(o), "delete:", meta.ShouldDelete(o))

	meta.SetExternalName(o, "existing-bucket")
	meta.SetExternalCreatePending(o, time.Date(2031, 3, 4, 5, 6, 7, 0, time.UTC))
	fmt.Println(meta.GetExternalName(o), "unresolved:", meta.ExternalCreateIncomplete(o))

	meta.AddAnnotations(o, map[string]string{meta.AnnotationKeyDeletionPolicy: "keep"})
	fmt.Println(meta.ValidatePolicies(o))
	// Output:
	// create: true delete: false
	// existing-bucket unresolved: true
	// annotation krateo.io/deletion-policy has the unknown value "keep"; allowed are delete, orphan
}
