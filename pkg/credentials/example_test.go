package credentials_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/credentials"
)

// A namespaced configuration may use the Secrets of its namespace, and nothing of the
// provider.
func Example() {
	secrets := fake.NewClientBuilder().WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "region-token"},
		Data:       map[string][]byte{"token": []byte("swordfish")},
	}).Build()

	extractor := credentials.New(secrets) // In a provider: GetAPIReader of its manager.
	selectors := commonv1.LocalCredentialSelectors{
		Env: &commonv1.EnvSelector{Name: "HOME"},
		SecretRef: &commonv1.LocalSecretKeySelector{
			LocalSecretReference: commonv1.LocalSecretReference{Name: "region-token"}, Key: "token",
		},
	}

	token, err := extractor.ExtractLocal(context.Background(), "team", commonv1.CredentialsSourceSecret, selectors)
	fmt.Println(len(token), err)

	_, err = extractor.ExtractLocal(context.Background(), "team", commonv1.CredentialsSourceEnvironment, selectors)
	fmt.Println(err)
	fmt.Println(credentials.IsNotAllowed(err))

	// Output:
	// 9 <nil>
	// cannot extract credentials from source "Environment": the provider does not allow its environment variable "HOME"
	// true
}
