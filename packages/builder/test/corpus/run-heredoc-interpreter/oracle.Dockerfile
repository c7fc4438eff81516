FROM {{registry}}/base:1

ENV who=env
RUN ["/bin/bash", "-c", "list=(a b c); echo \"${#list[@]} $who\" > /bash"]
RUN ["/bin/bash", "-c", "words=(x y); echo \"${words[1]}\" > /shell"]
