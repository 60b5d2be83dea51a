package gitops

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// RegistrySecret returns the Secret with which Argo CD reads a repository of a registry without TLS.
func RegistrySecret(name, repository string) *unstructured.Unstructured {
	secret := object("v1", "Secret", argocdNamespace, name, map[string]any{"stringData": map[string]any{
		"type": "oci", "url": imageURL(repository), "insecureOCIForceHttp": "true",
	}})
	secret.SetLabels(map[string]string{"argocd.argoproj.io/secret-type": "repository"})
	return secret
}

// ImageApplication returns an Application of Argo CD whose objects are the files of an image, by the repository and tag of a registry.
func ImageApplication(name, repository, tag string) *unstructured.Unstructured {
	return application(name, map[string]any{
		"repoURL": imageURL(repository), "targetRevision": tag, "path": ".", "directory": map[string]any{"recurse": true},
	})
}

func imageURL(repository string) string { return "oci://" + repository }
