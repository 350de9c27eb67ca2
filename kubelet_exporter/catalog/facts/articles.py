"""The two articles that this project grew from, as sources of facts."""

ARTICLE_1 = "article 1, Kubernetes kubelet core mechanisms and pod creation flow"
ARTICLE_2 = "article 2, The core role of the kubelet"
ARTICLES = f"{ARTICLE_1}; {ARTICLE_2}"
