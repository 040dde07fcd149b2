package fake_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

func Example() {
	var mg resource.Managed = &fake.Managed{ObjectMeta: metav1.ObjectMeta{Name: "data"}}

	mg.SetConditions(commonv1.Available())
	fmt.Println(mg.GetName(), mg.GetCondition(commonv1.TypeReady).Reason)

	m := &fake.Manager{Scheme: fake.SchemeWith(&fake.Managed{})}
	fmt.Println(m.GetScheme().Recognizes(fake.GVK(mg)))
	// Output:
	// data Available
	// true
}
