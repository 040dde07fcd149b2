package ready_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test/ready"
)

// A script stands for the t of your test, which an example does not have.
type script struct{}

func (*script) Helper()                           {}
func (*script) Cleanup(func())                    {}
func (*script) Context() context.Context          { return context.Background() }
func (*script) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func ExampleWait() {
	t := &script{}
	mg := &fake.Managed{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "orders"}}
	mg.SetConditions(commonv1.Available())
	kube := ctrlfake.NewClientBuilder().WithScheme(fake.SchemeWith(mg)).WithObjects(mg).Build()

	var log ready.Log // the logger of the manager of the provider is log.Logger()
	ready.Wait(t, kube, mg, &log)
	fmt.Println("ready:", mg.GetName())
	// Output: ready: orders
}
